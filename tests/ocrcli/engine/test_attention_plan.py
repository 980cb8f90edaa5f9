import pytest
import torch

from ocrcli.engine.attention_plan import prefill_plan
from ocrcli.engine.decode_loop import DecodeLoop
from ocrcli.engine.engine import Engine
from ocrcli.engine.kv_cache import NULL_BLOCK, SCRATCH_BLOCK
from ocrcli.engine.limits import GenerationLimits
from ocrcli.kernels.page_rope import IMAGE, PADDING, PAGE, TEXT

SIZE, WINDOW = 8, 16


class PlanCollector:
    """Keeps a copy of every decode plan that a run makes."""

    def __init__(self, monkeypatch):
        self.plans = []
        original = DecodeLoop._decode

        def collect(loop, batch):
            plan = batch.plan
            self.plans.append({name: getattr(plan, name).clone() for name in vars(plan)})
            return original(loop, batch)

        monkeypatch.setattr(DecodeLoop, "_decode", collect)


@pytest.fixture
def plans(monkeypatch):
    return PlanCollector(monkeypatch).plans


def run(model, kit, pages, **limits):
    model = kit.Recorder(model, never=kit.EOS_ID)
    engine = Engine(model, kit.DigitCodec(), GenerationLimits(loop_guard=None, **limits))
    return list(engine.transcribe(pages))


def test_prefill_plan_of_an_isolated_page_keeps_windows_inside_it(kit):
    sparse = kit.tiny_config().sparse
    roles = torch.tensor([PAGE] + [IMAGE] * 28 + [PADDING] * 3 + [PAGE] + [TEXT] * 20)
    plan = prefill_plan(roles, torch.arange(10, 17), 32, sparse)
    assert plan.window_start.tolist() == [max(p - 15, 32 if p >= 32 else 0) for p in range(53)]
    assert plan.remote.tolist() == [
        [b * SIZE < min(start, 32) for b in range(7)] for start in plan.window_start.tolist()
    ]
    real = roles != PADDING
    assert (plan.candidate[real] == torch.tensor([True] * 4 + [False] * 3)).all()
    assert torch.equal(plan.real, real)
    assert plan.slots.tolist() == [80 + p for p in range(53)]


def test_prefill_plan_gates_by_page_and_reads_across_pages_locally(kit):
    sparse = kit.tiny_config(isolated=False).sparse
    roles = torch.tensor([TEXT, PAGE] + [IMAGE] * 10 + [PAGE] + [IMAGE] * 10 + [TEXT, PAGE, TEXT])
    plan = prefill_plan(roles, torch.arange(4), 24, sparse)
    assert plan.window_start.tolist() == [max(p - 15, 0) for p in range(26)]
    blocks = plan.candidate.int().tolist()
    assert blocks[0] == [0, 0, 0, 0]
    assert blocks[5] == [1, 1, 0, 0]
    assert blocks[14] == [0, 1, 1, 0]
    assert blocks[23] == [0, 0, 0, 0]
    assert blocks[25] == [1, 1, 0, 0]


def test_block_table_must_cover_the_tokens(kit):
    with pytest.raises(ValueError, match=r"block_table must have shape \[2\] for 9 tokens"):
        prefill_plan(
            torch.tensor([PAGE] + [IMAGE] * 8), torch.arange(3), 9, kit.tiny_config().sparse
        )


def test_generated_tokens_live_in_a_ring_as_long_as_the_window(isolated_model, kit, plans):
    run(isolated_model, kit, [kit.NoisePage(1)], max_tokens_per_page=70)
    assert len(plans) == 70
    written = [int(plan["write_slots"][0]) for plan in plans]
    assert len(set(written)) == WINDOW
    assert written[WINDOW:] == written[:-WINDOW]
    for step, plan in enumerate(plans):
        valid = plan["local_valid"][0]
        read = plan["local_slots"][0][valid].tolist()
        assert sorted(read) == sorted(written[max(0, step - WINDOW + 1) : step + 1])
        assert int(plan["position"][0]) == 32 + step
        assert int(plan["token"][0]) == 29 + step
        assert int(plan["remote_limit"][0]) == 32
        assert plan["local_slots"].shape == (4, WINDOW)


def test_window_of_a_document_reaches_back_into_its_prompt(document_model, kit, plans):
    run(document_model, kit, [kit.NoisePage(1)], max_tokens_per_page=40)
    assert len(plans) >= 40
    length = int(plans[0]["position"][0])
    table = plans[0]["block_table"][0]
    prompt_slots = [int(table[p // SIZE]) * SIZE + p % SIZE for p in range(length)]
    written = []
    for step, plan in enumerate(plans):
        written.append(int(plan["write_slots"][0]))
        history = (prompt_slots + written)[-WINDOW:]
        valid = plan["local_valid"][0]
        assert sorted(plan["local_slots"][0][valid].tolist()) == sorted(history)
        limit = min(length + step - WINDOW + 1, length)
        assert int(plan["remote_limit"][0]) == limit
        assert plan["remote"][0].tolist() == [b * SIZE < limit for b in range(table.shape[0])]
    assert not set(prompt_slots) & set(written)


def test_plans_have_one_shape_and_unused_rows_touch_only_the_scratch_block(
    isolated_model, kit, plans
):
    pages = [kit.NoisePage(1), kit.NoisePage(2, seed=1, height=300, width=200)]
    run(isolated_model, kit, pages, max_tokens_per_page=20, pages_in_flight=2)
    for plan in plans:
        assert plan["block_table"].shape == (4, 64)
        for row in (2, 3):
            assert (plan["block_table"][row] == NULL_BLOCK).all()
            assert not plan["candidate"][row].any()
            assert not plan["remote"][row].any()
            assert (plan["local_slots"][row] // SIZE == SCRATCH_BLOCK).all()
            assert plan["local_valid"][row].any()
        assert plan["write_slots"].unique().numel() == 4
        live = set(plan["block_table"][:2].unique().tolist())
        assert SCRATCH_BLOCK not in live


def test_rows_of_two_pages_never_share_a_slot(isolated_model, kit, plans):
    pages = [kit.NoisePage(n, seed=n) for n in range(1, 5)]
    run(isolated_model, kit, pages, max_tokens_per_page=40)
    for plan in plans:
        held = []
        for row in range(4):
            prompt = {
                b * SIZE + o for b in plan["block_table"][row].tolist() if b for o in range(8)
            }
            held.append(prompt | set(plan["local_slots"][row].tolist()))
        assert sum(map(len, held)) == len(set().union(*held))
