import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type CliHome, cliHome } from '../support/cli.ts'
import { spawnCli } from '../support/cli-process.ts'
import { startTestDaemon, type TestDaemon } from '../support/daemon.ts'
import { acmeKey, derived } from '../support/seeds.ts'

const count = 3000
const uidOf = (i: number) => `04${i.toString(16).padStart(12, '0')}`.toUpperCase()
const chips = Array.from({ length: count }, (_, i) => ({ uid: uidOf(i + 1), keySet: 101 }))
const seed = {
  version: 1,
  keySets: [derived],
  teams: [{ name: 'Acme', apiKeys: [{ name: 'ops', key: acmeKey }], chipGroups: [{ name: 'All', chips }] }],
}

let daemon: TestDaemon
/** The machine that begins a batch, and another. */
let desk: CliHome
let laptop: CliHome
beforeEach(async () => {
  daemon = await startTestDaemon({ seed })
  const env = { TAPCHIP_URL: daemon.url, TAPCHIP_API_KEY: acmeKey }
  desk = cliHome(env)
  laptop = cliHome(env)
})
afterEach(async () => {
  desk.remove()
  laptop.remove()
  await daemon.stop()
})

const write = (target: string) => {
  const lines = chips.map(({ uid }, i) => `${uid},https://example.com/${target}/${i + 1}`)
  writeFileSync(join(desk.home, 'edits.csv'), `uid,redirectUrl\n${lines.join('\n')}\n`)
}
const slow = ['chips', 'edit', '--file', 'edits.csv', '--rate', '100', '--json']
const batchId = (stderr: string): string => /b_[0-9a-z]{14}/.exec(stderr)?.[0] ?? ''
const changed = async (target: string) =>
  (
    await daemon.ctx.db.read
      .selectFrom('chips')
      .select('uid')
      .where('redirectUrl', 'like', `%/${target}/%`)
      .execute()
  ).length
const listed = async () =>
  (await laptop.run('batch', 'list', '--all', '--json')).json() as Record<string, unknown>[]
/** How many changes of rows are recorded for a batch. */
const recorded = async (id: string): Promise<number> =>
  (await daemon.ctx.db.read.selectFrom('audit').select('detail').where('batch', '=', id).execute())
    .map(({ detail }) => Number(JSON.parse(detail).changed ?? 0))
    .reduce((sum, changed) => sum + changed, 0)

/** A batch that was killed on the desk after its first rows. */
const killed = async (target: string): Promise<string> => {
  write(target)
  const running = spawnCli(slow, desk.env, desk.home)
  await running.until((stdout) => stdout.includes('"changed"'))
  running.child.kill('SIGKILL')
  await running.ended
  return batchId(running.stderr())
}

describe('a batch whose machine was lost', () => {
  test('is listed with its machine, and finished by another: each row once', async () => {
    const id = await killed('lost')
    const [batch] = await listed()
    expect(batch).toMatchObject({ id, kind: 'chips edit', context: null, failed: 0, total: count })
    expect(batch?.host).toEqual(expect.any(String))

    const early = await laptop.run('batch', 'resume', id)
    expect([early.code, early.stderr]).toEqual([
      1,
      expect.stringMatching(/is running on .*last heard \d+ s ago/),
    ])
    expect(early.stderr).toContain(`tapchip batch resume ${id} --take-over`)

    const taken = await laptop.run('batch', 'resume', id, '--take-over', '--json')
    expect([taken.code, taken.code === 0 ? '' : taken.stderr]).toEqual([0, ''])
    expect(await changed('lost')).toBe(count)
    expect(await recorded(id)).toBe(count)
    expect((await listed())[0]).toMatchObject({ state: 'done', done: count, failed: 0, total: count })

    // Rows whose results were lost with the machine are taken back as well.
    const undone = await laptop.run('batch', 'undo', id, '--yes')
    expect([undone.code, undone.code === 0 ? '' : undone.stderr]).toEqual([0, ''])
    expect(await changed('lost')).toBe(0)
  })

  test('goes on where it was begun, from what another machine did meanwhile', async () => {
    const id = await killed('back')
    const stopped = await laptop.interruptedRun(
      (stdout) => stdout.includes('"changed"'),
      ...['batch', 'resume', id, '--take-over', '--rate', '100', '--json'],
    )
    expect(stopped.code).toBe(130)
    const byLaptop = stopped.lines() as { row: number }[]
    expect((await listed())[0]).toMatchObject({ state: 'stopped' })

    const resumed = await desk.run('batch', 'resume', id, '--json')
    expect([resumed.code, resumed.code === 0 ? '' : resumed.stderr]).toEqual([0, ''])
    const again = (resumed.lines() as { row: number }[]).filter(({ row }) =>
      byLaptop.some((done) => done.row === row),
    )
    expect(again).toEqual([])
    expect(await changed('back')).toBe(count)
    expect(await recorded(id)).toBe(count)
  })

  test('is reported and described from the daemon’s copy', async () => {
    const id = await killed('told')
    expect((await laptop.run('batch', 'status', id, '--json')).json()).toMatchObject({ id, total: count })
    expect((await laptop.run('batch', 'report', id, '--json')).lines()).toHaveLength(count)
  })
})

test('a batch that is taken over while it runs stops before its next request', async () => {
  write('taken')
  const running = spawnCli(slow, desk.env, desk.home)
  await running.until((stdout) => stdout.includes('"changed"'))
  const id = batchId(running.stderr())
  const taken = await laptop.run('batch', 'resume', id, '--take-over')
  expect([taken.code, taken.code === 0 ? '' : taken.stderr]).toEqual([0, ''])
  expect(await running.ended).toBe(1)
  expect(running.stderr()).toMatch(/was taken over, and is running on/)
  expect(await changed('taken')).toBe(count)
  expect(await recorded(id)).toBe(count)
})

test('a batch that ended is resumed by nobody, and one that is not known is not there', async () => {
  writeFileSync(join(desk.home, 'one.csv'), `uid,redirectUrl\n${uidOf(1)},https://example.com/one/1\n`)
  const done = await desk.run('chips', 'edit', '--file', 'one.csv')
  const id = batchId(done.stderr)
  expect((await laptop.run('batch', 'resume', id)).stderr).toContain('Nothing to do.')
  const none = await laptop.run('batch', 'resume', 'b_00000000000000')
  expect([none.code, none.stderr]).toEqual([2, expect.stringContaining('There is no batch')])
})

test('a daemon that keeps no copy is told of once, and the batch goes on here', async () => {
  await daemon.ctx.db.write((trx) => trx.schema.dropTable('batchChunks').execute())
  write('alone')
  const ran = await desk.run('chips', 'edit', '--file', 'edits.csv')
  expect(ran.code).toBe(0)
  expect(ran.stderr.match(/keeps no copy/g)).toHaveLength(1)
  expect(await changed('alone')).toBe(count)
})
