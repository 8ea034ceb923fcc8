import { expect, test } from 'vitest'
import { cliHome } from '../support/cli.ts'
import { adminToken, type Options, startTestDaemon } from '../support/daemon.ts'
import { callOn, startFleet } from '../support/fleet.ts'
import { bob, chips, phygitalSeed } from '../support/phygitals.ts'
import { acmeKey, derived } from '../support/seeds.ts'
import { tap, tapPath } from '../support/taps.ts'

const doctorOf = async (url: string): Promise<string[]> => {
  const here = cliHome({ TAPCHIP_URL: url, TAPCHIP_ADMIN_TOKEN: adminToken })
  try {
    const findings = (await here.run('doctor', '--json')).json() as { status: string; detail: string }[]
    return findings.filter(({ status }) => status === 'warn').map(({ detail }) => detail)
  } finally {
    here.remove()
  }
}

const patient = { timeout: 30_000, interval: 100 }
// Doctor asks at the address that requests come to.
const remote = { TAPCHIP_ADMIN_REMOTE: 'on' }

test('settings in which daemons differ are named in the log and by doctor, at both, until they agree', async () => {
  const { daemons, env, stop } = await startFleet(
    { env: { TAPCHIP_BASE_URL: 'https://a.example', ...remote } },
    1,
  )
  const [first] = daemons
  const lines: string[] = []
  const start = (more: Record<string, string>, dataDir?: string) => {
    const options: Options = { env: { ...env, ...remote, ...more }, log: (line) => lines.push(line) }
    return startTestDaemon(dataDir === undefined ? options : { ...options, dataDir })
  }
  try {
    const other = await start({
      TAPCHIP_BASE_URL: 'https://b.example',
      TAPCHIP_WIRE_PREFIX: 'acme',
      TAPCHIP_KEEP_TAPS_DAYS: '30',
    })
    const named = [
      /baseUrl \(TAPCHIP_BASE_URL\): https:\/\/\w\.example here, https:\/\/\w\.example at .+, process \d+\./,
      /wirePrefix \(TAPCHIP_WIRE_PREFIX\): (svc|acme) here/,
      /keepTapsDays \(TAPCHIP_KEEP_TAPS_DAYS\): (730|30) here/,
    ]
    // Compared before it was ready.
    for (const words of named)
      expect(lines.filter((line) => JSON.parse(line).level === 40 && words.test(line))).toHaveLength(1)
    await expect.poll(() => first?.ctx.fleet.warnings(), patient).toHaveLength(3)
    for (const { url } of [first, other].flatMap((one) => one ?? [])) {
      const warned = await doctorOf(url)
      for (const words of named) expect(warned.filter((line) => words.test(line))).toHaveLength(1)
    }
    await other.stop()
    await expect.poll(() => first?.ctx.fleet.warnings(), patient).toEqual([])

    // One without a base URL, and one with the same settings, differ from nobody.
    const without = await start({})
    const same = await start({ TAPCHIP_BASE_URL: 'https://a.example' })
    for (const { ctx } of [without, same]) expect(ctx.fleet.warnings()).toEqual([])
    await without.stop()
    await same.stop()
  } finally {
    await stop()
  }
})

test('a chain that only another daemon has is 503 here, and named by its addresses, never by its keys', async () => {
  const { daemons, env, stop } = await startFleet({ seed: phygitalSeed, chain: true }, 1)
  const [first] = daemons
  try {
    const other = await startTestDaemon({ env })
    const contract = (await first?.call('GET /admin/contracts?team=Acme'))?.body[0]
    const body = { contractAddress: contract.address, chainId: 31337, tokenId: '1' }
    const transfer = (recipient: string) =>
      callOn(other.url)('POST /phygitals/transfer', { ...body, recipient }, { 'x-svc-api-key': acmeKey })
    for (const recipient of [bob, 'alice.eth']) {
      const refused = await transfer(recipient)
      expect(refused).toMatchObject({ status: 503, body: { code: 'chain_unavailable' } })
      expect(refused.body.message).toMatch(/another daemon/)
    }
    const metadata = await callOn(other.url)(
      'PATCH /phygitals/metadata',
      {
        ...body,
        metadata: {
          name: 'New',
          collection: '',
          description: '',
          image: 'https://a.example/1.png',
          attributes: [],
          media_gallery: [],
        },
      },
      { 'x-svc-api-key': acmeKey },
    )
    expect(metadata).toMatchObject({ status: 503, body: { code: 'chain_unavailable' } })
    const found = tapPath(tap(derived, { uid: chips.jacket(1) }, 1))
    const page = await callOn(other.url)(`GET ${found}`, undefined, { accept: 'text/html' })
    const ref = /data-ref="([^"]+)"/.exec(page.text)?.[1]
    const refAt = (url: string) => callOn(url)(`GET /refs/${ref}?includeOwner=true`)
    expect((await refAt(other.url)).status).toBe(503)
    expect((await refAt(first?.url ?? '')).body).toMatchObject({ isValidRef: true })
    expect(other.ctx.fleet.warnings()).toEqual([
      expect.stringMatching(
        /differ in chain 31337 .*: not configured here, relayer 0x\w{40}, sign verifier 0x\w{40}/,
      ),
    ])
    await other.stop()
    const rows = await first?.ctx.db.read.selectFrom('daemons').selectAll().execute()
    expect(rows).toHaveLength(2)
    // An address has 40 digits, and a private key 64.
    expect(JSON.stringify(rows)).not.toMatch(/[0-9a-f]{41}/i)
  } finally {
    await stop()
  }
})
