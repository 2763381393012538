"""Writes a speech model of Whisper's smallest shape with random weights: every API works, and the text is nonsense.

    python -m sovctl.engine.lab.artifacts.random_whisper FOLDER

- Shape of openai/whisper-tiny: 4 + 4 layers, width 384, 51,865 tokens, 37.8 million parameters (arXiv 2212.04356,
  table 1).
- The same bytes on every machine: the weights are derived from a fixed seed with SHAKE-256. Nothing is downloaded.
- The tokenizer has one token for each byte, further tokens of two bytes, and the 1,608 special tokens of Whisper.
"""

from __future__ import annotations

import hashlib
import json
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

WIDTH, HEADS, LAYERS, FEED_FORWARD = 384, 6, 4, 1536
VOCABULARY, AUDIO_POSITIONS, TEXT_POSITIONS, MEL_BINS = 51_865, 1500, 448, 80
END_OF_TEXT = 50_257
_SEED = b"sovctl random whisper 1"
_LANGUAGE_CODES = (
    "en zh de es ru ko fr ja pt tr pl ca nl ar sv it id hi fi vi he uk el ms cs ro da hu ta no th ur hr bg lt la mi ml "
    "cy sk te fa lv bn sr az sl kn et mk br eu is hy ne mn bs kk sq sw gl mr pa si km sn yo so af oc ka be tg sd gu am "
    "yi lo uz fo ht ps tk nn mt sa lb my bo tl mg as tt haw ln ha ba jw su"
)
"""Codes in the order of their ids. Source: openai/whisper, whisper/tokenizer.py, LANGUAGES."""
_LANGUAGES = _LANGUAGE_CODES.split()
_TASKS = ("translate", "transcribe", "startoflm", "startofprev", "nospeech", "notimestamps")
_TIMESTAMPS = 1501  # 0.00 to 30.00 s in steps of 0.02 s

Shape = tuple[int, ...]


def write(folder: Path) -> None:
    """Write the files of the model into an existing folder."""
    (folder / "config.json").write_text(_text(_config()))
    (folder / "generation_config.json").write_text(_text(_generation()))
    (folder / "preprocessor_config.json").write_text(_text(_PREPROCESSOR))
    (folder / "tokenizer_config.json").write_text(_text(_TOKENIZER_CONFIG))
    (folder / "tokenizer.json").write_text(_text(_tokenizer()))
    (folder / "model.safetensors").write_bytes(_weights())


def special_tokens() -> list[str]:
    """Return the special tokens in the order of their ids, from `END_OF_TEXT` on."""
    named = ["endoftext", "startoftranscript", *_LANGUAGES, *_TASKS]
    return [f"<|{name}|>" for name in (*named, *(f"{step * 0.02:.2f}" for step in range(_TIMESTAMPS)))]


def tensors() -> Iterator[tuple[str, Shape]]:
    """Yield names and shapes of the weights, as in checkpoints of Hugging Face Transformers."""
    yield "model.encoder.conv1.weight", (WIDTH, MEL_BINS, 3)
    yield "model.encoder.conv1.bias", (WIDTH,)
    yield "model.encoder.conv2.weight", (WIDTH, WIDTH, 3)
    yield "model.encoder.conv2.bias", (WIDTH,)
    yield "model.encoder.embed_positions.weight", (AUDIO_POSITIONS, WIDTH)
    yield "model.decoder.embed_tokens.weight", (VOCABULARY, WIDTH)
    yield "model.decoder.embed_positions.weight", (TEXT_POSITIONS, WIDTH)
    for side, attentions in (("encoder", ["self_attn"]), ("decoder", ["self_attn", "encoder_attn"])):
        for layer in range(LAYERS):
            start = f"model.{side}.layers.{layer}"
            for attention in attentions:
                for part in ("q", "k", "v", "out"):
                    yield f"{start}.{attention}.{part}_proj.weight", (WIDTH, WIDTH)
                    if part != "k":
                        yield f"{start}.{attention}.{part}_proj.bias", (WIDTH,)
                yield from _norm(f"{start}.{attention}_layer_norm")
            yield f"{start}.fc1.weight", (FEED_FORWARD, WIDTH)
            yield f"{start}.fc1.bias", (FEED_FORWARD,)
            yield f"{start}.fc2.weight", (WIDTH, FEED_FORWARD)
            yield f"{start}.fc2.bias", (WIDTH,)
            yield from _norm(f"{start}.final_layer_norm")
        yield from _norm(f"model.{side}.layer_norm")


def _norm(name: str) -> Iterator[tuple[str, Shape]]:
    yield f"{name}.weight", (WIDTH,)
    yield f"{name}.bias", (WIDTH,)


def _weights() -> bytes:
    """Return the weights as safetensors: header length, header in JSON, data of 16-bit floating point numbers."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    data: list[bytes] = []
    offset = 0
    for name, shape in tensors():
        count = 1
        for each in shape:
            count *= each
        data.append(_values(name, count))
        header[name] = {"dtype": "F16", "shape": shape, "data_offsets": [offset, offset + 2 * count]}
        offset += 2 * count
    head = json.dumps(header, separators=(",", ":")).encode()
    head += b" " * (-len(head) % 8)
    return struct.pack("<Q", len(head)) + head + b"".join(data)


def _values(name: str, count: int) -> bytes:
    """Return values of a tensor: 1 for the weights of norms, 0 for biases, else 0.0156 to 0.0312 with either sign."""
    if name.endswith("norm.weight"):
        return b"\x00\x3c" * count
    if name.endswith(".bias"):
        return bytes(2 * count)
    drawn = int.from_bytes(hashlib.shake_256(_SEED + name.encode()).digest(2 * count), "little")
    sign_and_fraction = int.from_bytes(b"\xff\x83" * count, "little")
    exponent = int.from_bytes(b"\x00\x24" * count, "little")  # 2 ** -6
    return (drawn & sign_and_fraction | exponent).to_bytes(2 * count, "little")


def _config() -> dict[str, Any]:
    return {
        "architectures": ["WhisperForConditionalGeneration"],
        "model_type": "whisper",
        "d_model": WIDTH,
        "encoder_layers": LAYERS,
        "decoder_layers": LAYERS,
        "num_hidden_layers": LAYERS,
        "encoder_attention_heads": HEADS,
        "decoder_attention_heads": HEADS,
        "encoder_ffn_dim": FEED_FORWARD,
        "decoder_ffn_dim": FEED_FORWARD,
        "vocab_size": VOCABULARY,
        "num_mel_bins": MEL_BINS,
        "max_source_positions": AUDIO_POSITIONS,
        "max_target_positions": TEXT_POSITIONS,
        "max_length": TEXT_POSITIONS,
        "activation_function": "gelu",
        "is_encoder_decoder": True,
        "scale_embedding": False,
        "tie_word_embeddings": True,
        "bos_token_id": END_OF_TEXT,
        "eos_token_id": END_OF_TEXT,
        "pad_token_id": END_OF_TEXT,
        "decoder_start_token_id": END_OF_TEXT + 1,
        "torch_dtype": "float16",
    }


def _generation() -> dict[str, Any]:
    return {
        "bos_token_id": END_OF_TEXT,
        "eos_token_id": END_OF_TEXT,
        "pad_token_id": END_OF_TEXT,
        "decoder_start_token_id": END_OF_TEXT + 1,
        "max_length": TEXT_POSITIONS,
    }


_PREPROCESSOR = {
    "feature_extractor_type": "WhisperFeatureExtractor",
    "processor_class": "WhisperProcessor",
    "feature_size": MEL_BINS,
    "sampling_rate": 16_000,
    "hop_length": 160,
    "chunk_length": 30,
    "n_fft": 400,
    "n_samples": 480_000,
    "nb_max_frames": 3000,
    "padding_side": "right",
    "padding_value": 0.0,
    "return_attention_mask": False,
}
_TOKENIZER_CONFIG = {
    "tokenizer_class": "WhisperTokenizer",
    "processor_class": "WhisperProcessor",
    "bos_token": "<|endoftext|>",
    "eos_token": "<|endoftext|>",
    "unk_token": "<|endoftext|>",
    "pad_token": "<|endoftext|>",
    "model_max_length": TEXT_POSITIONS,
    "add_prefix_space": False,
    "errors": "replace",
}


def _tokenizer() -> dict[str, Any]:
    """Return tokenizer.json of Hugging Face tokenizers: byte-level BPE without merges."""
    characters = _byte_characters()
    vocabulary = {character: number for number, character in enumerate(characters)}
    for pair in (first + second for first in characters for second in characters):
        if len(vocabulary) == END_OF_TEXT:
            break
        vocabulary[pair] = len(vocabulary)
    added = [
        {
            "id": END_OF_TEXT + number,
            "content": content,
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": number < 2 + len(_LANGUAGES) + len(_TASKS),
        }
        for number, content in enumerate(special_tokens())
    ]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": None,
        "pre_tokenizer": byte_level,
        "post_processor": None,
        "decoder": byte_level,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": "",
            "end_of_word_suffix": "",
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": vocabulary,
            "merges": [],
        },
    }


def _byte_characters() -> list[str]:
    """Return the printable character of each byte, as GPT-2's tokenizer writes bytes."""
    printable = {*range(ord("!"), ord("~") + 1), *range(ord("\xa1"), ord("\xac") + 1), *range(ord("\xae"), 256)}
    others = iter(range(256, 512))
    return [chr(byte) if byte in printable else chr(next(others)) for byte in range(256)]


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True, indent=1) + "\n"


if __name__ == "__main__":
    write(Path(sys.argv[1]))
