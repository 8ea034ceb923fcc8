import { resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

/** What it takes to profile a daemon for a while: flags and environment to start it with, and a switch. */
export function profileTo(file) {
  return {
    flags: ['--require', fileURLToPath(new URL('profile-hook.cjs', import.meta.url))],
    env: { TAPCHIP_BENCH_PROFILE: resolve(file) },
    async toggle(pid) {
      process.kill(pid, 'SIGUSR2')
      // Long enough for the profile to be written.
      await sleep(1500)
    },
  }
}
