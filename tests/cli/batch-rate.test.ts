import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type CliHome, withDaemon } from '../support/cli.ts'
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

test('--concurrency is taken where scripts give it, does nothing, and is no option of a resume', async () => {
  write('a.csv', 'uid,redirectUrl\n04240000001000,https://example.com/\n')
  const edit = (most: string) =>
    here.run('chips', 'edit', '--file', 'a.csv', '--dry-run', '--concurrency', most)
  expect((await edit('2')).stderr).not.toContain('--concurrency')
  expect(await edit('17')).toMatchObject({ code: 2, stderr: expect.stringContaining('--concurrency') })
  const resumed = await here.run('batch', 'resume', 'b_1hq3v9k7s2m4xa', '--concurrency', '2')
  expect(resumed).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("Unknown option '--concurrency'"),
  })
})
