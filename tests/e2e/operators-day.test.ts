import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createProgram } from '../../src/cli/program.ts'
import { loadAll } from '../support/command-tree.ts'
import { png } from '../support/poap/image-bytes.ts'
import { type DaemonProcess, run, spawnDaemon } from '../support/process.ts'
import { acmeKey, alice, otherKey } from '../support/seeds.ts'

// The executables as they are, and a daemon of two teams. All that one of them does in a day is done by its API key
// alone: no admin token is in the environment, in a context, or in a data directory within reach.

const metadata = {
  name: 'Jacket',
  collection: '',
  description: '',
  image: '',
  attributes: [],
  media_gallery: [],
}
const team = (name: string, key: string, n: number) => ({
  name,
  apiKeys: [{ name: 'operator', key }],
  contracts: [
    { symbol: 'JKT', name: 'Jackets', chainId: 31337, twoTap: { delaySeconds: 0, windowSeconds: 3600 } },
  ],
  items: [{ id: 'poster', name: 'Poster' }],
  links: [{ label: 'Open', baseUrl: 'https://brand.example/tap' }],
  chipGroups: [
    {
      name: 'Jackets',
      chips: Array.from({ length: 6 }, (_, i) => {
        const token = { contract: 'JKT', tokenId: String(i + 1), owner: alice, metadata }
        return { uid: `04A0${n}000000${i + 1}80`, keySet: 101, ...(i < 3 ? { token } : {}) }
      }),
    },
  ],
  guestbookContracts: [
    {
      ...{ symbol: 'GB', name: 'Guests', chainId: 31337 },
      events: [{ name: 'Opening', tokenId: '1', metadata, chips: [] }],
    },
  ],
  badgeEvents: [
    {
      ...{ name: 'Launch', description: 'Launch', requestedCodes: 10, chips: [`04A0${n}000000580`] },
      ...{ startDate: '2026-05-01', endDate: '2099-06-30', expiryDate: '2099-07-31' },
    },
  ],
})
const seed = {
  version: 1,
  keySets: [
    {
      ...{
        id: 101,
        metaReadKey: '11'.repeat(16),
        fileReadKey: '22'.repeat(16),
        appMasterKey: '33'.repeat(16),
      },
      ...{ diversification: 'an10922', macInputFrom: 'd' },
    },
  ],
  names: { 'alice.eth': alice },
  teams: [team('Other', otherKey, 2), team('Acme', acmeKey, 1)],
}
const chip = (i: number) => `04A01000000${i}80`
const foreign = '04A02000000680'

let daemon: DaemonProcess
let home: string
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'tapchip-day-'))
  writeFileSync(join(home, 'seed.json'), JSON.stringify(seed))
  const env = {
    HOME: join(home, 'elsewhere'),
    XDG_DATA_HOME: join(home, 'elsewhere'),
    XDG_STATE_HOME: join(home, 'elsewhere'),
  }
  daemon = await spawnDaemon(['--ephemeral', '--port', '0', '--seed', join(home, 'seed.json')], env)
}, 60_000)
afterAll(async () => {
  await daemon.stop()
  rmSync(home, { recursive: true })
})

/** Each command that was run, as `noun verb`. */
const done = new Set<string>()
let key = acmeKey
async function ran(line: string, input = '') {
  const args = line.split(' ')
  const env = {
    ...{ HOME: home, TAPCHIP_URL: daemon.ready.url, TAPCHIP_API_KEY: key },
    ...{ XDG_STATE_HOME: home, XDG_CONFIG_HOME: home, XDG_DATA_HOME: home },
  }
  for (const of of [args.slice(0, 2), args.slice(0, 1)]) done.add(of.join(' '))
  return run('tapchip', args, env, input)
}
/** Runs it. @returns what it prints, which names nothing of the other team */
async function did(line: string, { input = '', codes = [0] }: { input?: string; codes?: number[] } = {}) {
  const { code, stdout, stderr } = await ran(line, input)
  if (code === null || !codes.includes(code)) throw new Error(`${line}: exit ${code}\n${stdout}${stderr}`)
  expect(stdout).not.toMatch(/04A02|"Other"|svc_\w{10}/)
  return stdout
}
const json = async (line: string, input?: string) =>
  JSON.parse((await did(`${line} --json`, { input: input ?? '' })).trim())
const file = (name: string, content: string) => {
  writeFileSync(join(home, name), content)
  return join(home, name)
}
const url = async (i: number) => (await json(`taps simulate --uid ${chip(i)}`)).url as string
/** Of a tap, without codes that look like an option. */
async function codes(i: number) {
  for (;;) {
    const answer = await fetch(await url(i), { headers: { accept: 'text/html' } })
    const ref = /data-ref="([^"]+)"/.exec(await answer.text())?.[1] ?? ''
    if (ref.startsWith('-')) continue
    const shown = await json(`refs show ${ref}`)
    if (!JSON.stringify(shown).includes('"otp":"-')) return shown
  }
}

describe("an operator's day", () => {
  test('chips, items, links and labels', async () => {
    await did('chip-groups create Hats')
    await did('chip-groups rename Hats --name Caps')
    await did('chip-groups list')
    await did('chip-groups remove Caps --yes')
    expect(await json('chips list')).toHaveLength(6)
    expect(await json('chips list')).toMatchObject(Array(6).fill({ label: null, chipGroup: 'Jackets' }))
    await did(`chips show ${chip(6)}`)
    await did(`chips edit --uid ${chip(6)} --redirect-url https://brand.example/`)
    await did(`chips disable ${chip(6)} --reason lost`)
    await did(`chips enable ${chip(6)}`)
    await did(`chips rename ${chip(6)} --label J-6`)
    await did('chips note J-6 Mended')
    await did(`chips note ${chip(6)}`)
    await did('chips show J-6')
    await did('chips link J-6 --item poster')
    await did('chips unlink J-6 --item --yes')
    const sheet = file('new.csv', 'uid\n04A01100000180\n04A01100000280\n')
    await did(`chips import --file ${sheet} --chip-group New --key-set 101`)
    await did('chips replace J-6 --with 04A01100000180 --yes')
    await did('chips move 04A01100000280 --chip-group Jackets --yes')
    await did('chips remove 04A01100000280 --yes')
    const all = join(home, 'all.csv')
    await did(`chips export --file ${all} --chip-group Jackets`)
    await did(`chips apply --file ${all} --yes`)
    await did(`labels print --chip-group Jackets --out ${join(home, 'labels.pdf')}`)
    await did('items create --id cap --name Cap')
    await did('items edit cap --name Hat')
    await did('items list')
    await did('items show cap')
    await did('items chips cap')
    await did('items remove cap --yes')
    await did(`items apply --file ${file('items.csv', 'id,name\nscarf,Scarf\n')} --yes`)
    const { id } = await json('links create --label Care --base-url https://care.example/')
    await did('links list')
    await did(`links remove ${id} --yes`)
    expect(await json('reservations list')).toEqual([])
    await did('reservations release 1 --yes', { codes: [1] })
    await did(`pages preview --out ${join(home, 'pages')}`)
    await did(`pages strings export --out ${join(home, 'words.json')}`)
    await did(`pages strings import --file ${join(home, 'words.json')}`)
  }, 300_000)

  test("another team's chip is unknown, whatever is done to it", async () => {
    for (const line of [
      `chips show ${foreign}`,
      `chips disable ${foreign}`,
      `chips remove ${foreign} --yes`,
      `chips edit --uid ${foreign} --redirect-url https://evil.example/`,
      `taps simulate --uid ${foreign}`,
      'chips list --team Other',
      'batch list --all --team Other',
    ]) {
      const { code, stderr } = await ran(line)
      expect([line, code === 4, stderr]).toEqual([line, false, stderr])
      expect(code).not.toBe(0)
    }
  }, 120_000)

  test('taps, refs, codes and tokens', async () => {
    await did(`chips find ${await url(4)}`)
    await did('taps list')
    await did('taps stats --plot')
    await did('chips stats')
    const follower = did('taps follow --count 1 --json')
    for (let seen = false; !seen; ) {
      await fetch(await url(4))
      seen = await Promise.race([follower.then(() => true), url(4).then(() => false)])
    }
    const { linkedToken } = await codes(1)
    const token = `--contract-address ${linkedToken.contractAddress} --chain-id 31337 --token-id`
    await did(`otps show ${linkedToken.otp}`)
    await did(`otps delete ${linkedToken.otp} --yes`)
    await did(`phygitals chip ${token} 1`)
    for (const action of ['create', 'show', 'delete'])
      await did(`phygitals claim-registration ${action} ${token} 1 --recipient alice.eth`)
    await did(`phygitals transfer-signature ${token} 1 --recipient alice.eth`)
    const { initialTxHash } = await json(
      `phygitals transfer ${token} 1 --recipient 0x52908400098527886e0f7030069857d2e4169ee7`,
    )
    await did(`phygitals metadata ${token} 1 --metadata ${JSON.stringify(metadata)}`)
    await did(`chips edit-self ${token} 2 --redirect-url https://mine.example/ --print-typed-data`)
    await did('transactions list')
    await did(`transactions show ${initialTxHash}`)
    await did(`transactions status ${initialTxHash}`)
    await did(`transactions cancel ${initialTxHash} --reason late --yes`, { codes: [1] })
  }, 300_000)

  test('badges and guestbooks', async () => {
    const [{ id }] = await json('badge-events list')
    const image = file('badge.png', '')
    writeFileSync(image, png())
    const dates = '--start-date 2026-05-01 --end-date 2099-06-30 --expiry-date 2099-07-31'
    await did(
      `badge-events create --name Night --description Night ${dates} --requested-codes 5 --image ${image}`,
    )
    await did(`badge-events show ${id}`)
    await did(`badge-events approve ${id}`)
    await did(`badge-events assign ${id} --uid ${chip(4)}`)
    const { badgeEvents } = await codes(5)
    await did(`badge-events mint ${id} --code ${badgeEvents[0].otp} --recipient ${alice}`)
    await did(`badge-events held ${alice}`)
    await did(`badge-events claims ${id}`)
    await did(`badge-events unassign ${id} --uid ${chip(4)} --yes`)
    await did(`badge-events reject ${id}`)
    const text = file('token.json', JSON.stringify(metadata))
    await did('guestbook contracts')
    const [event] = await json('guestbook list')
    await did('guestbook deploy --name Visitors --symbol VIS --chain-id 31337')
    await did(`guestbook create --contract GB --name Late --token-id 2 --file ${text}`)
    await did(`guestbook metadata ${event.id} --file ${text}`)
    await did(`guestbook assign ${event.id} --uid ${chip(4)}`)
    await did(`guestbook unassign ${event.id} --uid ${chip(4)} --yes`)
    await did(`guestbook mint ${event.id} --recipient ${alice}`)
    await did('guestbook pause GB')
    await did('guestbook unpause GB')
  }, 300_000)

  test('batches, with a colleague who approves', async () => {
    const { key: colleague } = JSON.parse((await ran('api-keys create --name colleague --json')).stdout)
    const propose = (name: string) =>
      did(
        `chips edit --uid ${chip(6)} --redirect-url https://brand.example/${name} --propose --name ${name} --yes`,
      )
    await propose('spring')
    await did('batch list --all')
    await did('batch status spring')
    key = colleague
    await did('batch approve spring --yes')
    await did('batch follow spring')
    await did('batch report spring')
    key = acmeKey
    await did('batch undo spring --yes')
    await propose('autumn')
    await did('batch cancel autumn --yes')
    await did('batch remove autumn --yes')
    const sheet = file(
      'many.csv',
      `uid,redirectUrl\n${[1, 2, 3, 4, 5].map((i) => `${chip(i)},https://brand.example/many`).join('\n')}\n`,
    )
    await did(`chips edit --file ${sheet} --rate 1 --name many --detach --yes`)
    await did('batch pause many')
    await did('batch resume many --rate 1000')
    // Kinds under /admin as well.
    await did(`chips apply --file ${file('label.csv', `uid,label\n${chip(5)},J-5\n`)} --name labels --yes`)
    await did('batch status labels')
    await did('batch report labels')
    await did('batch undo labels --yes')
  }, 300_000)

  test('contracts, webhooks, credentials and the log', async () => {
    await did('contracts list')
    await did('contracts show JKT')
    await did('contracts edit JKT --no-two-tap')
    await did('contracts set-url JKT')
    await did('contracts deploy --symbol NEW --name New --chain-id 31337')
    await did(
      'contracts register --symbol REG --name Reg --chain-id 31337 --address 0x52908400098527886e0f7030069857d2e4169ee7',
    )
    await did('contracts remove REG --yes')
    const { id } = JSON.parse(
      (await ran('webhooks create --to https://hook.invalid/ --events tap.valid --json')).stdout,
    )
    await did('webhooks list')
    await did(`webhooks test ${id}`, { codes: [0, 1] })
    const [delivery] = await json('webhooks deliveries')
    await did(`webhooks redeliver ${delivery.id}`, { codes: [0, 1] })
    await did(`webhooks edit ${id} --disable`)
    expect((await ran(`webhooks roll ${id} --yes`)).code).toBe(0)
    await did(`webhooks remove ${id} --yes`)
    for (const noun of ['api-keys', 'admin-tokens']) {
      expect((await ran(`${noun} create --name temp --scopes read`)).code).toBe(0)
      await did(`${noun} list`)
      expect((await ran(`${noun} roll temp --yes`)).code).toBe(0)
      await did(`${noun} revoke temp --yes`)
    }
    expect(await json('teams list')).toMatchObject([{ name: 'Acme' }])
    await did('teams show Acme')
    await did('teams edit Acme --brand-name Anorak')
    await did('audit list')
    await did('key-sets list')
  }, 300_000)

  test('the table, with a virtual chip', async () => {
    await did('nfc provision --key-set 101 --chip-group Table --reader emulator --accept-url')
    for (const verb of ['read', 'verify', 'recover', 'reset --yes'])
      await did(`nfc ${verb} --reader emulator`)
    await did('nfc recover --list')
    await did('nfc readers', { codes: [0, 1, 6] })
    const watched = await ran('nfc watch --reader emulator --count 1')
    expect(watched.code).not.toBe(4)
  }, 300_000)

  test('this machine', async () => {
    const findings = JSON.parse(await did('doctor --json', { codes: [0, 1] }))
    const named = findings.map(({ check }: { check: string }) => check)
    expect(named).toEqual(
      expect.arrayContaining(['API key', 'administration', 'database', 'badges', 'key sets']),
    )
    expect(await json('daemon status')).toMatchObject({ counts: { teams: 1, taps: null }, audit: null })
    expect((await ran(`bugreport --out ${join(home, 'report.txt')}`)).code).toBe(0)
    await did('login --status')
    expect((await ran('context create brand --url http://127.0.0.1:1')).code).toBe(0)
    for (const verb of ['list', 'show brand', 'use brand', 'remove brand --yes'])
      await did(`context ${verb}`, { codes: [0, 2] })
    await did('completion bash')
    await did('help')
  }, 120_000)
})

test.each([
  'teams create New',
  'teams remove Acme --yes',
  'teams edit Acme --transactions-per-day 5',
  'key-sets remove 101 --yes',
  'backup --without-data-key',
  'audit verify',
  'audit export',
])('%s is about the daemon or all of its teams: exit 4, and whom to ask', async (line) => {
  const { code, stderr } = await ran(line)
  expect([code, stderr]).toEqual([4, expect.stringMatching(/is for one team.*Ask whoever runs the daemon/s)])
  expect(stderr).not.toMatch(/admin\.token|root/)
})

/** Commands that are not run here, each for a reason. */
const elsewhere: Record<string, RegExp> = {
  'begin or end a daemon, or act on its files':
    /^(console|dev|ci|restore|store .*|daemon (start|stop|logs|install|uninstall|roll-root-token))$/,
  'read on this machine alone': /^(key-sets learn|nfc selftest)$/,
  'of the daemon, with a file of keys': /^key-sets create$/,
}

test('each command is run here, or is said to be left out', async () => {
  const program = createProgram({
    env: {},
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    fetch,
    now: () => new Date(),
  } as never)
  await loadAll(program)
  const all = program.commands.flatMap((noun) =>
    noun.commands.length === 0 ? [noun.name()] : noun.commands.map((verb) => `${noun.name()} ${verb.name()}`),
  )
  const left = Object.values(elsewhere)
  expect(
    all.filter((name) => !name.startsWith('__') && !done.has(name) && !left.some((one) => one.test(name))),
  ).toEqual([])
})
