import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { type CliHome, cliHome } from '../support/cli.ts'
import { spawnCli } from '../support/cli-process.ts'
import { type DaemonProcess, spawnDaemon } from '../support/process.ts'
import { randomFrom } from '../support/random.ts'
import { acmeKey, derived } from '../support/seeds.ts'

const count = 1200
const uidOf = (i: number) => `04${i.toString(16).padStart(12, '0')}`.toUpperCase()
const chips = Array.from({ length: count }, (_, i) => ({ uid: uidOf(i + 1), keySet: 101 }))
const seed = {
  version: 1,
  keySets: [derived],
  teams: [{ name: 'Acme', apiKeys: [{ name: 'ops', key: acmeKey }], chipGroups: [{ name: 'All', chips }] }],
}
const kills = 30
const idIn = (stderr: string) => /b_[0-9a-z]{14}/.exec(stderr)?.[0] ?? ''

test(`${kills} kills of an edit's machine, its daemon, or both: another machine finishes, each row once`, async () => {
  const random = randomFrom(20_261)
  const dataDir = mkdtempSync(join(tmpdir(), 'tapchip-kills-'))
  const seedFile = join(dataDir, 'seed.json')
  writeFileSync(seedFile, JSON.stringify(seed))
  const start = (port = '0', ...more: string[]) =>
    spawnDaemon(['--data-dir', join(dataDir, 'data'), '--port', port, ...more], { TAPCHIP_DEV_CHAIN: 'off' })
  let daemon: DaemonProcess = await start('0', '--seed', seedFile)
  const { port } = new URL(daemon.ready.url)
  const env = { TAPCHIP_URL: daemon.ready.url, TAPCHIP_API_KEY: acmeKey, TAPCHIP_PATIENCE_SECONDS: '30' }
  const homes: CliHome[] = []
  const machine = () => {
    const home = cliHome(env)
    homes.push(home)
    return home
  }
  try {
    for (let kill = 0; kill < kills; kill += 1) {
      const desk = machine()
      const lines = chips.map(({ uid }, i) => `${uid},https://example.com/${kill}/${i}`)
      writeFileSync(join(desk.home, 'a.csv'), `uid,redirectUrl\n${lines.join('\n')}\n`)
      const running = spawnCli(
        ['chips', 'edit', '--file', 'a.csv', '--rate', '2400', '--json'],
        desk.env,
        desk.home,
      )
      const rows = 1 + Math.floor(random() * (count / 2))
      await running.until((stdout) => stdout.split('\n').length > rows)
      const id = idIn(running.stderr())
      const victim = kill % 3
      if (victim !== 1) running.child.kill('SIGKILL')
      if (victim !== 0) {
        await daemon.kill()
        daemon = await start(port)
      }
      const ended = await running.ended
      // A machine that lives waits for its daemon, and finishes by itself.
      if (victim === 1)
        expect([ended, running.stderr()]).toEqual([0, expect.stringContaining('Waiting for it')])
      else {
        const taken = await machine().run('batch', 'resume', id, '--take-over')
        expect([taken.code, taken.code === 0 ? '' : taken.stderr]).toEqual([0, ''])
      }
      const db = new Database(join(dataDir, 'data/tapchip.db'), { readonly: true })
      const like = db.prepare('select count(*) as n from chips where "redirectUrl" like ?')
      const audit = db.prepare(
        `select sum(json_extract(detail, '$.changed')) as n from audit where batch = ? and action = 'chips.batch'`,
      )
      expect([like.get(`https://example.com/${kill}/%`), audit.get(id)]).toEqual([{ n: count }, { n: count }])
      db.close()
    }
  } finally {
    await daemon.kill()
    for (const home of homes) home.remove()
    rmSync(dataDir, { recursive: true, force: true })
  }
})
