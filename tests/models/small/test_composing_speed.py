"""The speed of composing is told for every kind of page of the mixture."""

import re

from ocrcli.models.small.training.composing_speed import main
from ocrcli.models.small.training.stages import STAGES


def test_every_stage_of_the_mixture_is_timed(block_atlas, text_folder, tmp_path, capsys):
    block_atlas.save(tmp_path)
    main(["--data", str(text_folder), "--atlas", str(tmp_path), "--pages", "12"])
    rows = capsys.readouterr().out.splitlines()
    assert [row.split()[0] for row in rows] == [name for name, _ in STAGES["mixed"].mixture]
    times = [float(re.search(r"[\d.]+", row.split(maxsplit=1)[1]).group()) for row in rows]
    assert all(0 < time < 2000 for time in times)
