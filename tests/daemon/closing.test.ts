import { describe, expect, test } from 'vitest'
import { closeInOrder } from '../../src/daemon/process/closing.ts'
import { startTestDaemon } from '../support/daemon.ts'

const quiet = { error: () => undefined }

describe('closing', () => {
  test('goes through every step in order, also after one that throws and one that rejects', async () => {
    const done: string[] = []
    const step = (what: string, run: () => unknown = () => undefined) => ({
      what,
      run: async () => {
        done.push(what)
        await run()
      },
    })
    const problems: unknown[] = []
    const isWhole = await closeInOrder(
      [
        step('first'),
        {
          what: 'throws',
          run: () => {
            throw new Error('at once')
          },
        },
        step('rejects', () => Promise.reject(new Error('later'))),
        step('last'),
      ],
      { log: { error: (line: object) => void problems.push(line) }, withinMs: 5000 },
    )
    expect(isWhole).toBe(false)
    expect(done).toEqual(['first', 'rejects', 'last'])
    expect(problems).toMatchObject([{ step: 'throws' }, { step: 'rejects' }])
  })

  test('leaves behind what does not end, and comes to the last step all the same', async () => {
    let isLast = false
    const never = { what: 'never', run: () => new Promise(() => undefined) }
    const last = {
      what: 'last',
      run: () => {
        isLast = true
      },
    }
    expect(await closeInOrder([never, last], { log: quiet, withinMs: 1 })).toBe(false)
    expect(isLast).toBe(true)
  })

  test('is whole where nothing went wrong', async () => {
    expect(await closeInOrder([{ what: 'one', run: () => undefined }], { log: quiet, withinMs: 1000 })).toBe(
      true,
    )
  })
})

test('a daemon that is to stop is first taken out of service by its proxy, and answers until then', async () => {
  const daemon = await startTestDaemon({ env: { TAPCHIP_DRAIN_SECONDS: '1' } })
  const ask = async (path: string) => {
    const answer = await fetch(daemon.url + path)
    const { code } = (await answer.json()) as { code?: string }
    return [answer.status, answer.headers.get('connection'), code]
  }
  expect(await ask('/readyz')).toEqual([200, 'keep-alive', undefined])
  const stopped = daemon.stop()
  expect(await ask('/readyz')).toEqual([503, 'close', 'store_unavailable'])
  expect(await ask('/healthz')).toEqual([200, 'close', undefined])
  await stopped
  await expect(ask('/healthz')).rejects.toThrow('fetch failed')
})
