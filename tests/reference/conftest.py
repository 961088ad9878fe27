"""A catalog small enough to compute by hand: every figure is a round one."""

from pathlib import Path

import pytest

from planopt_reference import Facts

CARD = """
id = "card"
name = "Card"
form_factor = "pcie"
datacenter_licence = false
peer_to_peer = "no"
unified_memory = false
memory = "24 GB"
memory_bandwidth = "1 TB/s"
power = "400 W"
price = "$1600"
[peak]
fp16 = "165 TFLOPS"
fp16_fp16_accumulate = "330 TFLOPS"
int8 = "660 TFLOPS"
[pcie]
generation = 4
lanes = 16
"""

# The seed article's H100: 989 TFLOPS, 3.35 TB/s, 450 GB/s in one direction.
BOARD = """
id = "board"
name = "Board accelerator"
form_factor = "sxm"
datacenter_licence = true
peer_to_peer = "yes"
unified_memory = false
memory = "80 GB"
memory_bandwidth = { value = "3350 GB/s", source = "table" }
power = "700 W"
[peak]
fp32 = "60 TFLOPS"
bf16 = "989 TFLOPS"
fp8 = "1978 TFLOPS"
[scale_up]
name = "Scale-up"
bandwidth = "450 GB/s"
domain = 8
"""

HOSTS = {
    "desktop": """
id = "desktop"
name = "Desktop"
form_factors = ["pcie"]
slots = 1
whole = false
link = "pcie4-x16"
nics = 1
power = "250 W"
rack_units = 0
price = "$700"
""",
    "server4": """
id = "server4"
name = "Server of four"
form_factors = ["pcie"]
slots = 4
whole = false
link = "pcie4-x16"
nics = 2
power = "300 W"
rack_units = 4
price = "$3000"
[all_reduce.default]
group_2 = "20 GB/s"
group_4 = "10 GB/s"
group_8 = "5 GB/s"
""",
    "server8": """
id = "server8"
name = "Server of eight"
form_factors = ["pcie"]
slots = 8
whole = true
link = "pcie4-x16"
nics = 2
power = "2 kW"
rack_units = 8
price = "$10000"
[all_reduce.default]
group_2 = "20 GB/s"
group_4 = "10 GB/s"
group_8 = "5 GB/s"
""",
    "machine": """
id = "machine"
name = "Machine"
form_factors = ["sxm"]
slots = 8
whole = true
link = "pcie5-x16"
nics = 8
power = "4400 W"
rack_units = 21
price = "$300000"
[includes]
accelerator = "board"
count = 8
""",
}

LINKS = {
    "pcie4-x16": 'kind = "pcie"\nbandwidth = "32 GB/s"',
    "pcie5-x16": 'kind = "pcie"\nbandwidth = "64 GB/s"',
    "eth-10g": 'kind = "ethernet"\nbandwidth = "10 Gbps"',
    "eth-25g": 'kind = "ethernet"\nbandwidth = "25 Gbps"\nlatency = "2 us"',
    "eth-200g": 'kind = "ethernet"\nbandwidth = "200 Gbps"',
}

NETWORK = """
id = "{id}"
name = "{id}"
link = "{link}"
transport = "{transport}"
nics_per_host = [1]
[nic]
id = "nic-{id}"
name = "NIC {id}"
power = "5 W"
price = "{nic_price}"
"""

SWITCH = """
[[switch]]
id = "switch-{id}"
name = "Switch {id}"
ports = {ports}
power = "100 W"
rack_units = 1
price = "{price}"
"""

CABLE = """
[cable]
id = "cable-{id}"
name = "Cable {id}"
price = "$50"
"""

# The article's 4090 cluster is sold 8 of 20 ports of a $1500 switch for $750.
NETWORKS = {
    "ten": NETWORK.format(id="ten", link="eth-10g", transport="tcp", nic_price="$150")
    + SWITCH.format(id="ten", ports=20, price="$1500"),
    "twenty-five": NETWORK.format(
        id="twenty-five", link="eth-25g", transport="tcp", nic_price="$300"
    )
    + CABLE.format(id="twenty-five")
    + SWITCH.format(id="twenty-five", ports=8, price="$2000"),
    "direct": NETWORK.format(
        id="direct", link="eth-25g", transport="tcp", nic_price="$300"
    ),
    "two-hundred": NETWORK.format(
        id="two-hundred", link="eth-200g", transport="rdma", nic_price="$1000"
    )
    + SWITCH.format(id="two-hundred", ports=40, price="$20000"),
}

# The seed article's model: 70e9 parameters in 80 layers, 64 heads of 128.
NOMINAL = """
id = "nominal"
name = "Nominal 70B"
hidden = 8192
vocabulary = 0
max_context = 4096
weights = "fp16"
tied = false
final_norm = false
norm = "rms"
layers = 80
nominal_parameters = 70_000_000_000
nominal_depth = 8000
[[block]]
norms = 0
[block.attention]
kind = "grouped"
heads = 64
kv_heads = 64
head_dim = 128
"""

# Three layers of 8 heads of 4, two of them key/value heads.
SMALL = """
id = "small"
name = "Small"
hidden = 32
vocabulary = 100
max_context = 1024
weights = "bf16"
tied = true
norm = "rms"
layers = 3
[[block]]
norms = 2
[block.attention]
kind = "grouped"
heads = 8
kv_heads = 2
head_dim = 4
[block.mlp]
kind = "dense"
width = 64
gated = true
"""

ARTICLE = """
id = "article"
description = "peaks in full, one transfer per collective"
hardware = ""
pcie_all_reduce = "default"
switch_sale = { port_blocks = 8 }
[memory]
usable_fraction = 1.0
unified_usable_fraction = 1.0
overhead = "0 GB"
overhead_group = "0 GB"
page_tokens = 1
workspace_tokens = 0
[compute]
efficiency = 1.0
half_rows = 0.0
half_columns = 0.0
half_depth = 0.0
fp16_accumulate = true
attention_efficiency = 1.0
bandwidth_efficiency = 1.0
kv_bandwidth_efficiency = 1.0
activation_traffic = false
attention_time = false
operation_overhead = "0 s"
step_overhead = "0 s"
[communication]
all_reduce = "transfer"
scale_up_efficiency = 1.0
scale_up_latency = "1 us"
one_shot_latency = "1 us"
pcie_efficiency = 1.0
pcie_latency = "10 us"
pcie_host_latency = "30 us"
tcp_efficiency = 1.0
tcp_latency = "0.7 ms"
rdma_efficiency = 1.0
rdma_latency = "1 us"
hop_payload = "full"
return_hop = true
[cost]
years = 3.0
residual = 0.0
electricity = "$0.10/kWh"
duty = 1.0
pue = 1.0
rack = "$1500/month"
rack_units = 42.0
load_fraction = 1.0
"""

ENGINE = (
    ARTICLE.replace('"article"', '"engine"')
    .replace("{ port_blocks = 8 }", '"whole"')
    .replace("usable_fraction = 1.0", "usable_fraction = 0.5", 1)
    .replace('overhead = "0 GB"', 'overhead = "1 GB"')
    .replace('overhead_group = "0 GB"', 'overhead_group = "2 GB"')
    .replace("unified_usable_fraction = 1.0", "unified_usable_fraction = 0.25")
    .replace("kv_bandwidth_efficiency = 1.0", "kv_bandwidth_efficiency = 0.8")
    .replace("residual = 0.0", "residual = 0.2")
    .replace("duty = 1.0", "duty = 0.5")
    .replace("pue = 1.0", "pue = 1.5")
    .replace("load_fraction = 1.0", "load_fraction = 0.9")
    .replace("page_tokens = 1", "page_tokens = 16")
    .replace("workspace_tokens = 0", "workspace_tokens = 10")
    .replace("fp16_accumulate = true", "fp16_accumulate = false")
    .replace("activation_traffic = false", "activation_traffic = true")
    .replace("attention_time = false", "attention_time = true")
    .replace("half_rows = 0.0", "half_rows = 16.0")
    .replace("half_columns = 0.0", "half_columns = 128.0")
    .replace("half_depth = 0.0", "half_depth = 64.0")
    .replace('operation_overhead = "0 s"', 'operation_overhead = "2 us"')
    .replace('step_overhead = "0 s"', 'step_overhead = "1 ms"')
    .replace('all_reduce = "transfer"', 'all_reduce = "ring"')
    .replace('one_shot_latency = "1 us"', 'one_shot_latency = "9 us"')
    .replace('hop_payload = "full"', 'hop_payload = "scattered"')
    .replace("return_hop = true", "return_hop = false")
    + "[accelerators.board]\nefficiency = 0.5\n"
)


def write_catalog(root: Path) -> Path:
    files = {
        "accelerators": {"card": CARD, "board": BOARD},
        "hosts": HOSTS,
        "links": {
            name: f'id = "{name}"\nname = "{name}"\n{rest}\n'
            for name, rest in LINKS.items()
        },
        "networks": NETWORKS,
        "models": {"nominal": NOMINAL, "small": SMALL},
        "assumptions": {"article": ARTICLE, "engine": ENGINE},
    }
    for kind, entities in files.items():
        (root / kind).mkdir(parents=True)
        for name, text in entities.items():
            (root / kind / f"{name}.toml").write_text(text, encoding="utf-8")
    return root


@pytest.fixture(scope="session")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Cards of the seed article, three servers, a machine, four networks."""
    return write_catalog(tmp_path_factory.mktemp("catalog"))


@pytest.fixture(scope="session")
def article(catalog: Path) -> Facts:
    """The seed article's arithmetic: peaks in full, collectives as transfers."""
    return Facts(catalog, assumptions="article")


@pytest.fixture(scope="session")
def engine(catalog: Path) -> Facts:
    """Everything switched on: efficiencies, overheads, rings, pages."""
    return Facts(catalog, assumptions="engine")
