import { describe, expect, test } from 'vitest'
import type { RowResult } from '../../../src/daemon/domain/batches/kind.ts'
import { sendRows } from '../../../src/daemon/domain/batches/send.ts'

const rows = Array.from({ length: 20 }, (_, n) => n + 1)
const done = (row: number): RowResult => ({ row, status: 'transferred' })

function sending(more: Partial<Parameters<typeof sendRows<number>>[0]> = {}) {
  const settled: number[] = []
  const reasons: (string | undefined)[] = []
  const stop = new AbortController()
  const run = sendRows<number>({
    ...{ rows, concurrency: 4, stopped: stop.signal, isGone: async () => false },
    waitsFor: async (reason) => {
      reasons.push(reason)
    },
    send: async (row) => done(row),
    onResult: (row) => settled.push(row),
    ...more,
  })
  return { run, settled, reasons, stop }
}

describe('rows that are sent', () => {
  test('are sent several at once, each once', async () => {
    let underWay = 0
    let most = 0
    const { run, settled } = sending({
      send: async (row) => {
        underWay += 1
        most = Math.max(most, underWay)
        await new Promise(setImmediate)
        underWay -= 1
        return done(row)
      },
    })
    expect(await run).toEqual({ isComplete: true })
    expect(most).toBe(4)
    expect(settled.sort((one, other) => one - other)).toEqual(rows)
  })

  test('end with what was under way once the batch is paused', async () => {
    let sent = 0
    const { run, settled } = sending({
      isGone: async () => sent >= 6,
      send: async (row) => {
        sent += 1
        return done(row)
      },
    })
    expect(await run).toMatchObject({ isComplete: false })
    expect(settled).toHaveLength(sent)
    expect(sent).toBeLessThan(rows.length)
  })

  test('that were recorded together are sent even so, since they take effect', async () => {
    const { run, settled } = sending({ isGone: async () => true, isRecorded: (row) => row % 5 === 0 })
    expect(await run).toMatchObject({ isComplete: false })
    expect(settled.sort((one, other) => one - other)).toEqual([5, 10, 15, 20])
  })

  test('keep what was done before one of them failed for a reason of the daemon', async () => {
    const error = new Error('no')
    const { run, settled } = sending({
      send: async (row) => {
        if (row === 5) throw error
        return done(row)
      },
    })
    expect(await run).toEqual({ isComplete: false, failure: { error } })
    expect(settled).toContain(1)
    expect(settled).not.toContain(5)
  })

  test('that have to wait are sent again, and say what they wait for', async () => {
    const tries = new Map<number, number>()
    const { run, settled, reasons } = sending({
      send: async (row) => {
        tries.set(row, (tries.get(row) ?? 0) + 1)
        if (row === 7 && tries.get(row) === 1) return { row, retryReason: 'The chain does not answer.' }
        return done(row)
      },
    })
    expect(await run).toEqual({ isComplete: true })
    expect(reasons).toEqual(['The chain does not answer.', undefined])
    expect(settled.at(-1)).toBe(7)
    expect([...tries.values()].filter((count) => count > 1)).toEqual([2])
  })

  test('wait no longer once the daemon stops', async () => {
    const stop = new AbortController()
    const { run, settled } = sending({
      stopped: stop.signal,
      waitsFor: async () => stop.abort(),
      send: async (row) => (row % 2 === 0 ? done(row) : { row, retryReason: 'The chain does not answer.' }),
    })
    expect(await run).toMatchObject({ isComplete: false })
    expect(settled.every((row) => row % 2 === 0)).toBe(true)
  })
})
