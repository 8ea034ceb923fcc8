import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import * as z from 'zod'

const probes = z.array(z.object({ at: z.number(), ms: z.number(), waitedMs: z.number(), status: z.number() }))
export type Probe = z.infer<typeof probes>[number]

export interface SteadyProbe {
  /** Waits for what is under way. */
  stop(): Promise<Probe[]>
}

/**
 * Sends a GET every so many ms, whether the last one was answered or not, as people do who tap.
 * @param repeat begin again with the first URL; else each is asked once
 * @param pid whose waiting for a core is not counted as its own slowness
 */
export function probeSteadily(settings: {
  urls: string[]
  repeat: boolean
  everyMs: number
  pid: number
}): SteadyProbe {
  const worker = new Worker(new URL('steady-probe-worker.mjs', import.meta.url), { workerData: settings })
  return {
    stop: async () => {
      const answered = once(worker, 'message')
      worker.postMessage('stop')
      const [message] = await answered
      await worker.terminate()
      return probes.parse(message)
    },
  }
}

/** How long a probe took, but for what the machine made daemon or prober wait for a core. */
export const ownMs = ({ ms, waitedMs }: Probe): number => Math.max(0, ms - waitedMs)

export function percentile(values: readonly number[], of: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * of) / 100))] ?? Number.NaN
}

/** For people: what the figures of a long test were. */
export function inWords(all: readonly Probe[]): string {
  const own = all.map(ownMs)
  const wall = all.map(({ ms }) => ms)
  const figures = [50, 99, 100].map((of) => `p${of} ${percentile(own, of).toFixed(1)}`)
  return `${all.length} probes, ${figures.join(', ')} ms (on the clock p99 ${percentile(wall, 99).toFixed(1)}, most ${percentile(wall, 100).toFixed(1)})`
}
