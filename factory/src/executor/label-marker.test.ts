import { expect, test } from "vitest";
import { createLabelMarker } from "./label-marker.ts";

test("the marker tells where the job is, and how long it was under each label", () => {
  let clock = 0;
  const marker = createLabelMarker("starting", () => clock);
  clock = 30;
  marker.onPhase("agent");
  expect(marker.currentPhase()).toBe("agent");
  clock = 130;
  marker.onPhase("structured-repair");
  clock = 150;
  marker.onPhase("agent");
  clock = 151;
  expect(marker.durations()).toEqual({ starting: 30, agent: 101, "structured-repair": 20 });
});
