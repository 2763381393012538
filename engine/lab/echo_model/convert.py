"""Converts the lab's echo model to GGUF, the format of llama.cpp.

    python convert.py MODEL OUT.gguf        # needs gguf 0.19 and numpy

- llama.cpp rotates neighbouring elements of a head, transformers its two halves: rows of Q and K are permuted.
- The tokenizer splits digits one by one, then as GPT-2 does. llama.cpp calls this `smollm`.
- Matrices stay bfloat16. Norms become float32, which llama.cpp requires.

Equal input gives an equal file.
"""

import json
import sys
from pathlib import Path

import gguf
import numpy as np

NAMES = {
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "lm_head": "output",
}
NAMES_IN_LAYER = {
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
"""Names of tensors in GGUF by those of transformers, without `.weight`."""


def tensors(path: Path):
    """Yield name and bfloat16 values of each tensor, as 16-bit numbers."""
    data = path.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    for name, entry in json.loads(data[8:start]).items():
        if name == "__metadata__":
            continue
        if entry["dtype"] != "BF16":
            raise SystemExit(f"{name}: expected BF16, got {entry['dtype']}")
        first, last = entry["data_offsets"]
        yield name, np.frombuffer(data[start + first : start + last], dtype=np.uint16).reshape(entry["shape"])


def name_in_gguf(name: str) -> str:
    name = name.removesuffix(".weight")
    if name in NAMES:
        return f"{NAMES[name]}.weight"
    layer, _, part = name.removeprefix("model.layers.").partition(".")
    return f"blk.{layer}.{NAMES_IN_LAYER[part]}.weight"


def permuted(rows, heads: int):
    """Return the rows of a Q or K matrix with the halves of each head interleaved."""
    return rows.reshape(heads, 2, len(rows) // heads // 2, -1).swapaxes(1, 2).reshape(rows.shape)


def add_architecture(writer: gguf.GGUFWriter, config: dict) -> None:
    writer.add_name("sovctl-echo")
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_rope_dimension_count(config["head_dim"])
    writer.add_rope_freq_base(config["rope_parameters"]["rope_theta"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_vocab_size(config["vocab_size"])
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_BF16)


def add_tokenizer(writer: gguf.GGUFWriter, config: dict, tokenizer: dict) -> None:
    vocabulary = tokenizer["model"]["vocab"]
    words = sorted(vocabulary, key=vocabulary.__getitem__)
    special = {each["content"] for each in tokenizer["added_tokens"]}
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(words)
    writer.add_token_types([gguf.TokenType.CONTROL if word in special else gguf.TokenType.NORMAL for word in words])
    writer.add_token_merges([" ".join(pair) for pair in tokenizer["model"]["merges"]])
    writer.add_eos_token_id(config["eos_token_id"])
    writer.add_pad_token_id(config["pad_token_id"])
    writer.add_add_bos_token(False)


def main(folder: Path, out: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    writer = gguf.GGUFWriter(out, "llama")
    add_architecture(writer, config)
    add_tokenizer(writer, config, json.loads((folder / "tokenizer.json").read_text()))
    writer.add_chat_template((folder / "chat_template.jinja").read_text())
    heads = {"attn_q": config["num_attention_heads"], "attn_k": config["num_key_value_heads"]}
    for name, values in tensors(folder / "model.safetensors"):
        new = name_in_gguf(name)
        part = new.split(".")[-2]
        if part in heads:
            values = permuted(values, heads[part])
        if values.ndim == 1:
            writer.add_tensor(new, (values.astype(np.uint32) << 16).view(np.float32))
        else:
            data = np.ascontiguousarray(values).view(np.uint8)
            writer.add_tensor(new, data, raw_dtype=gguf.GGMLQuantizationType.BF16)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
