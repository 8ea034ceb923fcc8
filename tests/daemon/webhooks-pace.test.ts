import { expect, test } from 'vitest'
import { Pace } from '../../src/daemon/webhooks/pace.ts'

test('tries are held back only while many taps keep the event loop busy', () => {
  let now = 0
  let share = 0.99
  const pace = new Pace({ monotonic: () => now, utilization: () => share })
  const begun = (events: number): number => {
    pace.take()
    for (let n = 0; n < events; n += 1) pace.recorded()
    now += 100
    let tries = 0
    while (tries < 500 && pace.take()) tries += 1
    return tries
  }
  expect(begun(100)).toBe(4)
  expect(begun(0)).toBe(500)
  share = 0.5
  expect(begun(100)).toBe(500)
})
