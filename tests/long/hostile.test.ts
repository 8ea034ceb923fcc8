import { expect, test } from 'vitest'
import { hostileRequests, isRunning, sendAtOnce, startSmallDaemon } from '../support/hostile.ts'

test('half a gigabyte of heap is enough for the worst that one key can send, four times at once', async () => {
  const daemon = await startSmallDaemon()
  const children = daemon.children()
  for (const request of hostileRequests(60)) {
    let isOver = false
    const waits: number[] = []
    const watching = (async () => {
      while (!isOver) {
        const begun = performance.now()
        await (await fetch(`${daemon.ready.url}/chips/find?e=00&c=00&d=101`)).arrayBuffer()
        waits.push(performance.now() - begun)
      }
    })()
    const { statuses } = await sendAtOnce(daemon.ready.url, request, 4)
    isOver = true
    await watching
    expect({ name: request.name, statuses }).toEqual({ name: request.name, statuses: [request.status] })
    waits.sort((one, other) => one - other)
    const p99 = waits[Math.floor(waits.length * 0.99)] ?? 0
    console.log(
      `${request.name}: ${waits.length} others meanwhile, p99 ${p99.toFixed(0)} ms, the longest ${waits.at(-1)?.toFixed(0)} ms`,
    )
  }
  expect(await daemon.stop()).toBe(0)
  expect(children.filter(isRunning)).toEqual([])
}, 900_000)
