import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { kinds } from '../../src/cli/batch/kinds.ts'
import { type CliHome, cliHome } from '../support/cli.ts'
import { adminToken, startTestDaemon } from '../support/daemon.ts'
import { keySets } from '../support/nfc.ts'
import { phygitalSeed } from '../support/phygitals.ts'
import { png } from '../support/poap/image-bytes.ts'
import { acmeKey, derived, seed } from '../support/seeds.ts'

let [daemon, other]: Awaited<ReturnType<typeof startTestDaemon>>[] = []
let here: CliHome
beforeAll(async () => {
  daemon = await startTestDaemon({ seed })
  other = await startTestDaemon({ seed })
})
afterAll(async () => {
  await daemon?.stop()
  await other?.stop()
})
beforeEach(() => {
  here = cliHome({
    TAPCHIP_URL: daemon?.url ?? '',
    TAPCHIP_API_KEY: acmeKey,
    TAPCHIP_ADMIN_TOKEN: adminToken,
  })
})
afterEach(() => here.remove())

const begun = async () => {
  writeFileSync(join(here.home, 'a.csv'), `id,name\njacket,Jacket ${Math.random()}\n`)
  const ran = await here.run('items', 'edit', '--file', 'a.csv')
  expect(ran.code).toBe(0)
  const id = /b_[0-9a-z]{14}/.exec(ran.stderr)?.[0] ?? ''
  return { id }
}

test('an undo off a terminal needs --yes', async () => {
  const { id } = await begun()
  const refused = await here.run('batch', 'undo', id)
  expect([refused.code, refused.stderr]).toEqual([
    2,
    expect.stringContaining('Restore 1 item? Confirm with --yes'),
  ])
  expect((await here.run('batch', 'undo', id, '--yes')).code).toBe(0)
})

/** How a batch of each kind is begun: a new kind is not forgotten. */
const commands: Readonly<Record<string, readonly string[]>> = {
  'badge-events create': ['badge-events create --file events.csv'],
}

describe('a batch belongs to the daemon that it began at', () => {
  let [home, away]: Awaited<ReturnType<typeof startTestDaemon>>[] = []
  beforeAll(async () => {
    const [acme, ...others] = phygitalSeed.teams
    const badgeEvents = [
      { name: 'Launch', startDate: day, endDate: day, expiryDate: '2099-01-01', requestedCodes: 10 },
    ]
    const everything = {
      ...phygitalSeed,
      keySets: [derived, keySets.a],
      teams: [{ ...acme, badgeEvents }, ...others],
    }
    home = await startTestDaemon({ seed: everything })
    away = await startTestDaemon({ seed: everything })
  })
  afterAll(async () => {
    await home?.stop()
    await away?.stop()
  })
  const day = '2026-12-31'
  const write = (name: string, text: string) => writeFileSync(join(here.home, name), text)
  const changesAt = async (url = '') => {
    const headers = { authorization: `Bearer ${adminToken}` }
    return (await fetch(`${url}/admin/audit?team=Acme`, { headers })).json()
  }

  test('of every kind there is', () => {
    expect(Object.keys(commands).sort()).toEqual(kinds.map(({ name }) => name).sort())
  })

  const all = Object.entries(commands).flatMap(([kind, ways]) =>
    ways.map((command) => [kind, command] as const),
  )
  test.each(all)('%s: %s', async (kind, command) => {
    writeFileSync(join(here.home, 'badge.png'), png())
    write(
      'events.csv',
      `name,startDate,endDate,expiryDate,requestedCodes,image\nOpening,${day},${day},2099-01-01,3,badge.png\n`,
    )
    here.env.TAPCHIP_URL = home?.url ?? ''
    here.env.TAPCHIP_ADMIN_TOKEN = adminToken
    const ran = await here.run(...command.split(' '))
    expect([ran.code, ran.code === 0 ? '' : ran.stderr]).toEqual([0, ''])
    const id = /b_[0-9a-z]{14}/.exec(ran.stderr)?.[0] ?? ''
    const journal = join(here.home, '.local/state/tapchip/batches', `${id}.jsonl`)
    const text = readFileSync(journal, 'utf8')
    expect(JSON.parse(text.split('\n')[0] ?? '')).toMatchObject({ kind, instance: home?.ctx.instance })
    const begun = text.replace(/.*"type":"(result|end)".*\n/g, '').replace(/"pid":\d+/, '"pid":0')
    // As it ended, and as a kill leaves it.
    for (const kept of [text, begun]) {
      writeFileSync(journal, kept)
      const before = [await changesAt(away?.url), await changesAt(home?.url)]
      const canUndo = kinds.some(({ name, undo }) => name === kind && 'name' in undo)
      for (const verb of ['resume', 'undo']) {
        const refused = await here.run('--url', away?.url ?? '', 'batch', verb, id, '--yes')
        const words =
          verb === 'resume' || canUndo ? `the daemon at ${away?.url} is a different one` : /cannot/
        expect([verb, refused.code, refused.stdout]).toEqual([verb, 2, ''])
        expect(refused.stderr).toMatch(words)
      }
      expect([await changesAt(away?.url), await changesAt(home?.url)]).toEqual(before)
      expect(readFileSync(journal, 'utf8')).toBe(kept)
    }
    const resumed = await here.run('batch', 'resume', id, '--yes', '--reader', 'emulator')
    expect([resumed.code, resumed.code === 0 ? '' : resumed.stderr]).toEqual([0, ''])
  })
})
