import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer, request as httpRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type CliHome, withDaemon } from '../support/cli.ts'
import { png } from '../support/poap/image-bytes.ts'
import { seed } from '../support/seeds.ts'

let here: CliHome
withDaemon({ seed }, (home) => {
  here = home
})
const write = (name: string, content: string) => writeFileSync(join(here.home, name), content)

describe('--rate', () => {
  const uid = (i: number) => `0424000000${(i + 0x1000).toString(16)}`
  const many = Array.from({ length: 40 }, (_, i) => uid(i))
  const timed = async (...args: string[]) => {
    const started = performance.now()
    const ran = await here.run(...args)
    return { ...ran, seconds: (performance.now() - started) / 1000 }
  }

  test('spreads the rows of an import and of an edit over time, and leaves none out', async () => {
    write('a.csv', `uid,label\n${many.map((u, i) => `${u},"two\nlines ${i}"`).join('\n')}\n`)
    const made = await timed(
      'chips',
      'import',
      '--file',
      'a.csv',
      '--chip-group',
      'R',
      '--key-set',
      '101',
      '--rate',
      '80',
    )
    expect([made.code, made.stderr]).toEqual([
      0,
      expect.stringContaining('40 chips created, 0 unchanged, 0 failed'),
    ])
    expect(made.seconds).toBeGreaterThan(0.2)
    write('b.csv', `uid,redirectUrl\n${many.map((u) => `${u},https://example.com/`).join('\n')}\n`)
    const edited = await timed('chips', 'edit', '--file', 'b.csv', '--rate', '80', '--json')
    expect(edited.lines()).toHaveLength(40)
    expect(edited.seconds).toBeGreaterThan(0.2)
  })

  test('an interrupt does not wait for the next rows', async () => {
    write('b.csv', `uid,redirectUrl\n${many.map((u) => `${u},https://example.com/2`).join('\n')}\n`)
    let interruptedAt = 0
    const ran = await here.interruptedRun(
      (out) => {
        interruptedAt = performance.now()
        return out.includes('"row":1,')
      },
      'chips',
      'edit',
      '--file',
      'b.csv',
      '--rate',
      '1',
      '--json',
    )
    expect([ran.code, ran.stderr]).toEqual([130, expect.stringContaining('Stopped after 1 of 40')])
    expect(performance.now() - interruptedAt).toBeLessThan(900)
  })

  test('is a whole number', async () => {
    expect((await here.run('chips', 'edit', '--file', 'b.csv', '--rate', '0.5')).code).toBe(2)
  })
})

describe('--concurrency', () => {
  /** Holds creations back until so many of them wait, and lets the last one through first. */
  const heldBack = async (upTo: number) => {
    const waiting: (() => void)[] = []
    let underWay = 0
    let most = 0
    const proxy = createServer(async (request, response) => {
      const body = await buffer(request)
      const isCreation = request.method === 'POST' && request.url?.startsWith('/badge-events?') === true
      if (isCreation) {
        underWay += 1
        most = Math.max(most, underWay)
        await new Promise<void>((release) => {
          waiting.push(release)
          if (waiting.length === upTo) for (const each of waiting.splice(0).reverse()) each()
        })
      }
      const { host: _, ...headers } = request.headers
      const { hostname, port } = new URL(here.env.TAPCHIP_URL ?? '')
      const { method, url } = request
      const onward = httpRequest({ hostname, port, method, path: url, headers }, (answer) => {
        if (isCreation) underWay -= 1
        response.writeHead(answer.statusCode ?? 500, answer.headers)
        answer.pipe(response)
      })
      onward.end(body)
    })
    proxy.listen(0, '127.0.0.1')
    await once(proxy, 'listening')
    onTestFinished(() => {
      proxy.closeAllConnections()
      proxy.close()
    })
    return { port: (proxy.address() as AddressInfo).port, most: () => most }
  }

  test('keeps so many requests under way, and the results in the order of the rows', async () => {
    const proxy = await heldBack(3)
    writeFileSync(join(here.home, 'badge.png'), png())
    const rows = [1, 2, 3, 4, 5, 6].map(
      (n) => `Evening ${n},2026-12-0${n},2026-12-0${n},2026-12-31,5,badge.png`,
    )
    write('e.csv', `name,startDate,endDate,expiryDate,requestedCodes,image\n${rows.join('\n')}\n`)
    const url = ['--url', `http://127.0.0.1:${proxy.port}`]
    const made = await here.run(
      'badge-events',
      'create',
      '--file',
      'e.csv',
      '--concurrency',
      '3',
      '--json',
      ...url,
    )
    expect([made.code, proxy.most()]).toEqual([0, 3])
    expect(made.lines()).toEqual(
      rows.map((_, at) => ({ row: at + 1, status: 'created', id: expect.any(Number) })),
    )
  })

  test('is refused where the rows of a batch need their order', async () => {
    write('a.csv', `uid,label\n04240000001000,order\n`)
    const ran = await here.run('chips', 'apply', '--file', 'a.csv', '--yes')
    const id = /b_\w+/.exec(ran.stderr)?.[0] ?? ''
    const resumed = await here.run('batch', 'resume', id, '--concurrency', '2')
    expect([resumed.code, resumed.stderr]).toEqual([2, expect.stringContaining('has no --concurrency')])
    expect((await here.run('chips', 'edit', '--file', 'a.csv', '--concurrency', '17')).code).toBe(2)
  })
})
