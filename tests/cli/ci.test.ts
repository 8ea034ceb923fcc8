import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { anvilOf, hasEnded, runs } from '../support/anvil-of.ts'
import { type CliHome, cliHome } from '../support/cli.ts'
import { type Running, spawnCli } from '../support/cli-process.ts'
import { acmeKey, derived } from '../support/seeds.ts'

const seed = {
  version: 1,
  keySets: [derived],
  teams: [
    { name: 'Empty' },
    {
      name: 'Acme',
      apiKeys: [{ name: 'ops', key: acmeKey }],
      chipGroups: [{ name: 'Jackets', chips: [{ uid: '04000000000001', keySet: 101 }] }],
    },
  ],
}

let here: CliHome
let started: Running[]
beforeEach(() => {
  started = []
  here = cliHome()
  writeFileSync(join(here.home, 'seed.json'), JSON.stringify(seed))
  writeFileSync(join(here.home, 'command.mjs'), command)
})
afterEach(async () => {
  for (const { child } of started) child.kill('SIGKILL')
  here.remove()
})

/** The command of a job: says what it was given, then ends as it is told to, or waits for a signal. */
const command = `
const { TAPCHIP_URL: url, TAPCHIP_API_KEY: key, TAPCHIP_ADMIN_TOKEN: token } = process.env
const [how, code] = process.argv.slice(2)
const get = async (path, headers) => (await fetch(url + path, { headers })).json()
const { counts } = await get('/admin/status', { authorization: 'Bearer ' + token })
const { name } = await get('/team', { 'x-svc-api-key': key })
for (const signal of ['SIGINT', 'SIGTERM'])
  process.on(signal, async () => {
    // The daemon still answers while the command ends.
    const { status } = await fetch(url + '/readyz')
    console.log(JSON.stringify({ signal, status }))
    process.exit(Number(code))
  })
console.log(JSON.stringify({ url, key, pid: process.pid, counts, team: name }))
if (how === 'wait') setInterval(() => undefined, 1000)
else if (how === 'exit') process.exit(Number(code))
else process.kill(process.pid, how)
`
const ci = (...args: string[]): Running => {
  const running = spawnCli(['ci', ...args], { ...here.env, TMPDIR: here.home }, here.home)
  started.push(running)
  return running
}
const seeded = (...args: string[]) => ci('--seed', 'seed.json', '--', 'node', 'command.mjs', ...args)

/** The directory of the daemon, which goes when the daemon has ended. */
const dataDirs = () => readdirSync(here.home).filter((name) => /^tapchip-/.test(name))
const said = (running: Running) => JSON.parse(running.stdout().split('\n')[0] ?? '')

/** Once the command waits: the anvil of its daemon. */
const waiting = async (running: Running): Promise<number> => {
  await running.until((stdout) => stdout.includes('\n'))
  return anvilOf(join(here.home, dataDirs()[0] ?? ''))
}

test('the command has the seed, its first key, and an admin token, and its exit code is the one of the job', async () => {
  const running = seeded('exit', '7')
  expect([await running.ended, running.stderr()]).toEqual([
    7,
    expect.stringMatching(/^A daemon runs at .*\n$/),
  ])
  expect(said(running)).toMatchObject({ key: acmeKey, team: 'Acme', counts: { teams: 2, chips: 1 } })
  expect(dataDirs()).toEqual([])
  await expect(fetch(said(running).url)).rejects.toThrow()
})

test('without a key in the seed, or without a seed, there is a new one', async () => {
  writeFileSync(join(here.home, 'seed.json'), JSON.stringify({ version: 1, teams: [{ name: 'Empty' }] }))
  const running = seeded('exit', '0')
  expect([await running.ended, said(running)]).toEqual([0, expect.objectContaining({ team: 'Empty' })])
  const bare = ci('--', 'node', 'command.mjs', 'exit', '0')
  expect([await bare.ended, said(bare)]).toEqual([0, expect.objectContaining({ team: 'CI' })])
})

test('a command that is killed ends the job as a shell says it, and leaves no daemon and no anvil', async () => {
  const running = seeded('SIGKILL')
  expect([await running.ended, dataDirs()]).toEqual([137, []])

  const waited = seeded('wait', '0')
  const anvil = await waiting(waited)
  process.kill(said(waited).pid, 'SIGKILL')
  expect([await waited.ended, dataDirs(), runs(anvil)]).toEqual([137, [], false])
})

test.each(['SIGTERM', 'SIGINT'] as const)(
  '%s reaches the command, and the daemon outlives it',
  async (signal) => {
    const running = seeded('wait', '9')
    const anvil = await waiting(running)
    running.child.kill(signal)
    expect(await running.ended).toBe(9)
    expect(running.stdout().split('\n')[1]).toBe(JSON.stringify({ signal, status: 200 }))
    expect([dataDirs(), runs(anvil)]).toEqual([[], false])
  },
)

test('if the job itself is killed, its daemon and its anvil still end', async () => {
  const running = seeded('wait', '0')
  const anvil = await waiting(running)
  running.child.kill('SIGKILL')
  await hasEnded(anvil)
  await expect.poll(dataDirs).toEqual([])
  process.kill(said(running).pid, 'SIGKILL')
  expect(await running.ended).toBe('SIGKILL')
})

test('what keeps the command from being run is said in plain words', async () => {
  writeFileSync(join(here.home, 'bad.json'), '{"version": 1, "teams": [{}]}')
  writeFileSync(join(here.home, 'text.txt'), 'no program')
  const cases: [string[], number, RegExp][] = [
    [['--seed', 'seed.json'], 2, /^There is no command to run\.\nWrite it after --: tapchip ci /],
    [['--seed', 'none.json', '--', 'true'], 2, /none\.json cannot be read: .*not exist\./],
    [
      ['--seed', 'bad.json', '--', 'true'],
      1,
      /^The daemon did not start:\ntapchipd: The seed .*bad\.json is invalid: teams.0.name/,
    ],
    [['--', 'no-such-command'], 127, /no-such-command cannot be run: there is no such command\./],
    [['--', './text.txt'], 126, /text\.txt cannot be run: it is not an executable file\./],
  ]
  for (const [args, code, words] of cases) {
    const running = ci(...args)
    expect([args, await running.ended, running.stderr()]).toEqual([args, code, expect.stringMatching(words)])
  }
  expect(dataDirs()).toEqual([])
})
