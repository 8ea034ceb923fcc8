import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type CliHome, withDaemon } from '../support/cli.ts'
import { spawnCli } from '../support/cli-process.ts'
import { startTestDaemon, type TestDaemon } from '../support/daemon.ts'
import { acmeKey, derived } from '../support/seeds.ts'

const count = 9000
const uidOf = (i: number) => `04${i.toString(16).padStart(12, '0')}`.toUpperCase()
const chips = Array.from({ length: count }, (_, i) => ({ uid: uidOf(i + 1), keySet: 101 }))
const seed = {
  version: 1,
  keySets: [derived],
  teams: [{ name: 'Acme', apiKeys: [{ name: 'ops', key: acmeKey }], chipGroups: [{ name: 'All', chips }] }],
}

let here: CliHome
withDaemon({ seed }, (home) => {
  here = home
})

const write = (target: string) => {
  const lines = chips.map(({ uid }, i) => `${uid},https://example.com/${target}/${i + 1}`)
  writeFileSync(join(here.home, 'edits.csv'), `uid,redirectUrl\n${lines.join('\n')}\n`)
}
/** An edit that would take half a minute, so that it is under way however late a signal comes. */
const slow = ['chips', 'edit', '--file', 'edits.csv', '--rate', String(count / 30), '--json']
const slowEdit = () => spawnCli(slow, here.env, here.home)
const redirects = async (): Promise<(string | null)[]> => {
  const { json } = await here.run('chips', 'list', '--chip-group', 'All', '--json')
  return (json() as { redirectUrl: string | null }[]).map(({ redirectUrl }) => redirectUrl)
}
const batchId = (stderr: string): string => /b_[0-9a-z]{14}/.exec(stderr)?.[0] ?? ''
const status = async (id: string) => (await here.run('batch', 'status', id, '--json')).json()

test('a command that was killed leaves its batch running, which can be taken back whole', async () => {
  write('killed')
  const running = slowEdit()
  await running.until((stdout) => stdout.includes('"changed"'))
  running.child.kill('SIGKILL')
  expect(await running.ended).toBe('SIGKILL')
  const id = batchId(running.stderr())
  expect(await status(id)).toMatchObject({ state: 'running', total: count })
  expect((await here.run('batch', 'pause', id)).code).toBe(0)
  const { done } = (await status(id)) as { done: number }
  const resumed = await here.run('batch', 'resume', id, '--rate', '1000000', '--json')
  expect([resumed.code, resumed.lines().length]).toEqual([0, count - done])
  expect(await status(id)).toMatchObject({ state: 'done', changed: count, failed: 0 })
  const undone = await here.run('batch', 'undo', id, '--yes', '--rate', '1000000')
  expect(undone.code).toBe(0)
  expect((await redirects()).every((url) => url === null)).toBe(true)
})

test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
  '%s pauses the batch, says where it stands, and exits with 130',
  async (signal) => {
    write('interrupted')
    const running = slowEdit()
    await running.until((stdout) => stdout.includes('"changed"'))
    running.child.kill(signal)
    expect(await running.ended).toBe(130)
    const id = batchId(running.stderr())
    expect(running.stderr()).toContain(`tapchip batch resume ${id}`)
    const shown = running.stdout().split('\n').length - 1
    expect(shown).toBeLessThan(count)
    expect(await status(id)).toMatchObject({ state: 'paused', changed: shown })
    const written = (await redirects()).filter((url) =>
      url?.startsWith('https://example.com/interrupted/'),
    ).length
    expect(written).toBe(shown)
    expect((await here.run('batch', 'undo', id, '--yes')).code).toBe(0)
  },
)

test('a second SIGINT leaves the batch as it is, and says so', async () => {
  write('twice')
  const running = slowEdit()
  await running.until((stdout) => stdout.includes('"changed"'))
  running.child.kill('SIGINT')
  await running.until((_, stderr) => stderr.includes('Press Ctrl-C again'))
  running.child.kill('SIGINT')
  expect(await running.ended).toBe(130)
  const id = batchId(running.stderr())
  // The pause may have been first.
  expect(running.stderr()).toMatch(new RegExp(`tapchip batch (status|resume) ${id}`))
  await here.run('batch', 'pause', id)
  expect((await here.run('batch', 'undo', id, '--yes')).code).toBe(0)
  expect((await redirects()).every((url) => url === null)).toBe(true)
})

test('a daemon that restarts is waited for, and every row is done once', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'tapchip-restart-'))
  const first = await startTestDaemon({ seed, dataDir })
  const { port } = new URL(first.url)
  here.env.TAPCHIP_URL = first.url
  write('restart')
  let second: Promise<TestDaemon> | undefined
  let notice = () => {}
  const noticed = new Promise<void>((resolve) => {
    notice = resolve
  })
  const restart = async () => {
    await first.stop()
    // Otherwise it may be back before the next rows are due.
    await noticed
    return startTestDaemon({ dataDir, port: Number(port) })
  }
  const ran = await here.interruptedRun(
    (stdout, stderr) => {
      if (stderr.includes('The daemon is not answering')) notice()
      if (stdout.includes('"changed"')) second ??= restart()
      return false
    },
    ...['chips', 'edit', '--file', 'edits.csv', '--rate', String(count / 3), '--json'],
  )
  const daemon = await second
  expect([ran.code, ran.code === 0 ? '' : ran.stderr]).toEqual([0, ''])
  expect(ran.stderr.match(/The daemon is not answering/g)).toHaveLength(1)
  const rows = ran.lines() as { row: number }[]
  expect(rows.map(({ row }) => row)).toEqual(chips.map((_, i) => i + 1))
  const details = await daemon?.ctx.db.read
    .selectFrom('audit')
    .select('detail')
    .where('batch', '=', batchId(ran.stderr))
    .execute()
  const changed = details?.map(({ detail }) => Number(JSON.parse(detail).changed ?? 0)) ?? []
  expect(changed.reduce((sum, n) => sum + n, 0)).toBe(count)
  await daemon?.stop()
  rmSync(dataDir, { recursive: true, force: true })
})
