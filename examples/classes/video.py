"""A video call as a traffic source: frames at a constant rate, with a key frame now and then."""

from collections.abc import Iterator

import farlink as fl


class Video(fl.TrafficSource):
    """Frames of random sizes around a mean bit rate; each key frame is several times as long."""

    def __init__(
        self, fps: float = 25, kbit_per_s: float = 500, key_every: int = 100, key_factor: float = 6
    ) -> None:
        self.fps, self.key_every, self.key_factor = fps, key_every, key_factor
        frames = (key_every - 1 + key_factor) / key_every
        self.mean = kbit_per_s * 125 / fps / frames

    def messages(self) -> Iterator[tuple[float, float]]:
        """Yield frames, the first at the start of the flow."""
        frame = 0
        while True:
            size = self.mean * (0.5 + self.random())
            if frame % self.key_every == 0:
                size *= self.key_factor
            yield (1 / self.fps if frame else 0), max(size, 1)
            frame += 1
