import { expect, onTestFinished, test } from 'vitest'
import { BackgroundLoop } from '../../src/values/background-loop.ts'

/** A loop whose runs end, and whose timer rings, when the test says. */
function openLoop() {
  const waits: number[] = []
  const errors: unknown[] = []
  let ring: (() => void) | undefined
  let runs = 0
  let end = (_?: Error) => {}
  const loop = new BackgroundLoop({
    run: () => {
      runs += 1
      return new Promise<void>((resolve, reject) => {
        end = (error) => (error ? reject(error) : resolve())
      })
    },
    restMs: async () => 1000,
    wokenMs: () => 50,
    failed: (error) => errors.push(error),
    schedule: (job, ms) => {
      waits.push(ms)
      ring = job
      return () => {
        ring = undefined
      }
    },
  })
  onTestFinished(async () => {
    const stopped = loop.stop()
    end()
    await stopped
  })
  const settled = () => new Promise(setImmediate)
  return {
    loop,
    waits,
    errors,
    runs: () => runs,
    ring: () => ring?.(),
    end: async (error?: Error) => {
      end(error)
      await settled()
    },
  }
}

test('a run that fails is told of, and followed by the next one', async () => {
  const { loop, waits, errors, runs, ring, end } = openLoop()
  loop.start()
  loop.start()
  expect(runs()).toBe(1)
  const error = new Error('the disk is full')
  await end(error)
  expect({ errors, waits }).toEqual({ errors: [error], waits: [1000] })
  ring()
  expect(runs()).toBe(2)
})

test('waking brings the next run nearer, during a run as well, and never puts it off', async () => {
  const { loop, waits, runs, ring, end } = openLoop()
  loop.start()
  loop.wake()
  await end()
  loop.wake()
  loop.wake()
  expect(waits).toEqual([50])
  ring()
  await end()
  loop.wake()
  expect({ waits, runs: runs() }).toEqual({ waits: [50, 1000, 50], runs: 2 })
})

test('a run that is asked for while one is under way is that one', async () => {
  const { loop, runs, end } = openLoop()
  loop.start()
  const asked = loop.tick()
  await end()
  await asked
  expect(runs()).toBe(1)
})

test('stopping waits for the run that is under way, which hears of it, and nothing runs afterwards', async () => {
  const { loop, waits, runs, end } = openLoop()
  loop.start()
  let isStopped = false
  const stopped = loop.stop().then(() => {
    isStopped = true
  })
  await new Promise(setImmediate)
  expect({ isStopped, isEnding: loop.isEnding }).toEqual({ isStopped: false, isEnding: true })
  await end(new Error('cut off'))
  await stopped
  loop.wake()
  expect({ waits, runs: runs() }).toEqual({ waits: [], runs: 1 })
})
