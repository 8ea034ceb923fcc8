import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const chosen = process.env.TAPCHIP_TEST_FAKETIME
const places = chosen
  ? [chosen]
  : ['x86_64', 'aarch64'].map((machine) => `/usr/lib/${machine}-linux-gnu/faketime/libfaketimeMT.so.1`)

export interface FakeTime {
  /** Of a process whose clock it is. What is monotonic stays real, and so do the dates of files. */
  env: Record<string, string>
  /** @param seconds off the real time */
  set(seconds: number): void
}

/** The clock of processes, which jumps while they run. @throws where libfaketime is not installed */
export function fakeTime(dir: string): FakeTime {
  const library = places.find((path) => existsSync(path))
  if (library === undefined) throw new Error('There is no libfaketime: node scripts/install-faketime.mjs')
  const file = join(dir, 'faketime')
  const set = (seconds: number) => writeFileSync(file, `${seconds < 0 ? '' : '+'}${seconds}\n`)
  set(0)
  return {
    set,
    env: {
      LD_PRELOAD: library,
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      DONT_FAKE_MONOTONIC: '1',
      NO_FAKE_STAT: '1',
    },
  }
}
