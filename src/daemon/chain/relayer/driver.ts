import { BackgroundLoop, type Schedule } from '../../background-loop.ts'
import type { DriverPace, SenderStatus } from './sender.ts'

/** What is driven: a SenderLoop. */
export interface Ticking {
  readonly status: SenderStatus
  tick(): Promise<SenderStatus>
}

/**
 * Ticks a loop for as long as the daemon runs: often while there is work, seldom while there is none. A node that is
 * down is not asked at every request: it has its own pace.
 */
export function drive(
  ticking: Ticking,
  { busyMs, idleMs, maxBackoffMs }: DriverPace,
  schedule: Schedule,
): BackgroundLoop {
  let failures = 0
  return new BackgroundLoop({
    run: async () => {
      const { trouble } = await ticking.tick()
      failures = trouble === undefined ? 0 : failures + 1
    },
    restMs: () => {
      const backoff = Math.min(busyMs * 2 ** failures, Math.max(maxBackoffMs, busyMs))
      return failures > 0 ? backoff : ticking.status.unsettled > 0 ? busyMs : idleMs
    },
    wokenMs: () => (failures > 0 ? Number.POSITIVE_INFINITY : 0),
    // The store cannot be read either; what asks it next says so.
    failed: () => {
      failures += 1
    },
    schedule,
  })
}
