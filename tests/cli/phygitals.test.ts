import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { getAddress, hashTypedData, recoverAddress } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { ownerOf } from '../../src/daemon/chain/contract-state.ts'
import { type CliHome, cliHome, ends } from '../support/cli.ts'
import { startTestDaemon } from '../support/daemon.ts'
import { bob, carol, chips, phygitalSeed } from '../support/phygitals.ts'
import { acmeKey, alice, derived, otherKey } from '../support/seeds.ts'
import { tap, tapPath } from '../support/taps.ts'

let daemon: Awaited<ReturnType<typeof startTestDaemon>>
let here: CliHome
let contracts: { symbol: string; address: string }[]
beforeAll(async () => {
  daemon = await startTestDaemon({ chain: true, seed: phygitalSeed })
  contracts = await daemon.ctx.db.read.selectFrom('contracts').selectAll().execute()
})
afterAll(() => daemon.stop())
beforeEach(() => {
  here = cliHome({
    TAPCHIP_URL: daemon.url,
    TAPCHIP_API_KEY: acmeKey,
    TAPCHIP_ADMIN_TOKEN: daemon.adminToken,
  })
})
afterEach(() => here.remove())

const addressOf = (symbol: string) =>
  getAddress(contracts.find((one) => one.symbol === symbol)?.address ?? '')
const token = (n: number, symbol = 'JKT') => [
  '--contract-address',
  addressOf(symbol),
  '--chain-id',
  '31337',
  '--token-id',
  String(n),
]
const run = (...args: string[]) => here.run('phygitals', ...args)
const hash = expect.stringMatching(/^0x[0-9a-f]{64}$/)

const counters = new Map<string, number>()
/** Taps a chip and queries the ref. @returns the code for its token */
const codeOf = async (uid: string): Promise<string> => {
  const counter = (counters.get(uid) ?? 0) + 1
  counters.set(uid, counter)
  const page = await (await fetch(daemon.url + tapPath(tap(derived, { uid }, counter)))).text()
  const ref = /data-ref="([^"]+)"/.exec(page)?.[1] ?? ''
  const shown = (await here.run('refs', 'show', ref, '--json')).json()
  const { linkedToken, otp } = shown as { linkedToken?: { otp: string }; otp?: string }
  return linkedToken?.otp ?? otp ?? ''
}
const owner = async (n: number, symbol = 'JKT') => {
  const { chains, db } = daemon.ctx
  const open = await db.read.selectFrom('transactions').select('id').where('settledAt', 'is', null).execute()
  await Promise.all(open.map(({ id }) => chains.relayer.settled(id)))
  return ownerOf(chains.get(31337).client, addressOf(symbol), BigInt(n))
}

describe('a transfer', () => {
  test('of a token that is named, to an address or a name, says where to look', async () => {
    const ran = await run('transfer', ...token(1), '--recipient', 'bob.eth')
    ends(ran, 0, 'tapchip transactions show 0x')
    expect(ran.stdout).toMatch(
      /^Transaction: 0x[0-9a-f]{64}\nToken: +0x\w+ #1 on chain 31337\nTo: +bob.eth$/m,
    )
    expect(await owner(1)).toBe(getAddress(bob))
    const { initialTxHash } = (await run('transfer', ...token(1), '--recipient', carol, '--json')).json() as {
      initialTxHash: string
    }
    expect(await owner(1)).toBe(getAddress(carol))
    const shown = await here.run('transactions', 'show', initialTxHash, '--json')
    expect(shown.json()).toMatchObject({ kind: 'phygital-transfer', state: 'confirmed', initialTxHash })
  })

  test('of a chip, and of one that is minted by it', async () => {
    const moved = await run('transfer', '--uid', chips.jacket(2), '--recipient', bob, '--json')
    expect(moved.json()).toMatchObject({ initialTxHash: hash, tokenRef: { tokenId: '2' } })
    const minted = await run('transfer', '--uid', chips.unminted(1), '--recipient', bob, '--json')
    expect(minted.json()).toMatchObject({ tokenRef: { contractAddress: addressOf('JKT'), tokenId: '22' } })
    expect(await owner(22)).toBe(getAddress(bob))
  })

  test('by a code needs no key, and works once', async () => {
    const code = await codeOf(chips.jacket(3))
    delete here.env.TAPCHIP_API_KEY
    const ran = await run('transfer', '--code', code, '--recipient', bob, '--json')
    expect(ran.json()).toEqual({ success: true, initialTxHash: hash })
    const used = await run('transfer', '--code', code, '--recipient', carol)
    ends(used, 4, 'already been used')
    expect(used.stderr).not.toContain('Set a key')
    expect(await owner(3)).toBe(getAddress(bob))
  })

  test('is sent once with one idempotency key, however often it is run', async () => {
    const again = () =>
      run('transfer', ...token(4), '--recipient', bob, '--idempotency-key', 'order-4', '--json')
    const [first, second] = [await again(), await again()]
    expect(second.json()).toEqual(first.json())
    const other = await run('transfer', ...token(4), '--recipient', carol, '--idempotency-key', 'order-4')
    ends(other, 1, 'Idempotency-Key was used with another request')
  })

  test('whose answer is lost is repeated with its key, and told to the person where that does not help', async () => {
    const keys: (string | undefined)[] = []
    let failures = 1
    const lossy = createServer((request, response) => {
      // Whose key it is does not matter here.
      if (request.method === 'GET') return response.writeHead(404).end()
      keys.push(String(request.headers['idempotency-key']))
      if (failures-- > 0) request.socket.destroy()
      else
        response
          .setHeader('content-type', 'application/json')
          .end(JSON.stringify({ success: true, initialTxHash: '0x1' }))
      return response
    })
    await new Promise<void>((resolve) => lossy.listen(0, '127.0.0.1', resolve))
    here.env.TAPCHIP_URL = `http://127.0.0.1:${(lossy.address() as AddressInfo).port}`
    expect((await run('transfer', ...token(4), '--recipient', bob)).code).toBe(0)
    expect(keys).toEqual([expect.stringMatching(/^[0-9a-f-]{36}$/), keys[0]])
    failures = 9
    const lost = await run('transfer', ...token(4), '--recipient', bob)
    expect([lost.code, lost.stderr]).toEqual([
      5,
      expect.stringMatching(
        /^At http:.*\nDaemon not reachable.*\nRun it again with --idempotency-key [^\n]*\n$/,
      ),
    ])
    lossy.close()
  })

  test('that is refused says why', async () => {
    ends(await run('transfer', ...token(5), '--recipient', 'nobody.eth'), 2, 'nobody.eth')
    ends(await run('transfer', ...token(999), '--recipient', bob), 1, 'No such token')
    await here.run('chips', 'unlink', chips.unminted(9), '--item', '--yes')
    const empty = await run('transfer', '--uid', chips.unminted(9), '--recipient', bob)
    ends(empty, 1, 'has no token')
    expect(empty.stderr).toContain(`tapchip chips link ${chips.unminted(9)} --contract-address`)
    here.env.TAPCHIP_API_KEY = otherKey
    ends(await run('transfer', ...token(5), '--recipient', bob), 1, 'No such token')
    delete here.env.TAPCHIP_API_KEY
    ends(await run('transfer', ...token(5), '--recipient', bob), 4, 'TAPCHIP_API_KEY')
  })

  test.each([
    [[], 'Specify which token: --contract-address, --chain-id and --token-id, or --uid, or --code'],
    [['--uid', chips.jacket(5), '--code', 'x'], 'Specify it in one way'],
    [['--token-id', '5', '--recipient', bob], '--contract-address, --chain-id are missing'],
    [['--uid', '1.2E+15', '--recipient', bob], 'scientific notation'],
    [['--uid', chips.jacket(5)], '--recipient is missing'],
    [['--code', 'ä', '--recipient', bob], '--code must be 1 to 255 visible ASCII characters'],
  ])('with %j is a usage error', async (args, text) => {
    ends(await run('transfer', ...args), 2, text)
  })

  test('dry, shows the request and no code, which it does not use up', async () => {
    const code = await codeOf(chips.jacket(7))
    for (const _ of [1, 2]) {
      const ran = await run('transfer', '--code', code, '--recipient', bob, '--dry-run')
      expect([ran.code, ran.stdout]).toEqual([
        0,
        `POST ${daemon.url}/phygitals/transfer/pullable {"recipient":"${bob}"}\n`,
      ])
    }
    const unknown = await run('transfer', '--code', 'unknown-code-012345678', '--recipient', bob, '--dry-run')
    expect(unknown.code).toBe(4)
    const signing = await run('transfer-signature', ...token(5), '--recipient', bob, '--dry-run')
    expect(signing.stdout).toMatch(/^GET .*\/phygitals\/transfer-signature\?/)
  })
})

describe('a transfer signature', () => {
  test('is given by key and by code, for whoever submits it', async () => {
    const byKey = (await run('transfer-signature', ...token(6), '--recipient', bob, '--json')).json()
    expect(byKey).toMatchObject({
      signature: expect.stringMatching(/^0x[0-9a-f]{130}$/),
      blockExpiry: expect.stringMatching(/^\d+$/),
      tokenRef: { contractAddress: addressOf('JKT'), chainId: '31337', tokenId: '6' },
    })
    const code = await codeOf(chips.jacket(6))
    const byCode = await run('transfer-signature', '--code', code, '--recipient', bob)
    expect(byCode.stdout).toMatch(/^Signature: +0x/)
    expect((await run('transfer-signature', '--code', code, '--recipient', bob)).stdout).toBe(byCode.stdout)
    ends(await run('transfer-signature', '--code', code, '--recipient', carol), 4, 'already been used')
    ends(await run('transfer-signature', '--recipient', bob), 2, 'Specify which token')
  })
})

describe('a claim registration', () => {
  test('is created, shown and deleted by key', async () => {
    const wanted = [...token(1, 'ART'), '--recipient', bob]
    const show = async () => (await run('claim-registration', 'show', ...wanted, '--json')).json()
    expect(await show()).toMatchObject({ isRequired: true, isValid: false, createdAt: null })
    const made = await run('claim-registration', 'create', ...wanted)
    ends(made, 0, 'transfer --code')
    expect(made.stdout).toMatch(/^From: +\d{4}-/m)
    expect(await show()).toMatchObject({ isRequired: true, createdAt: expect.any(String) })
    expect((await run('claim-registration', 'show', ...wanted)).stdout).toMatch(/^Second tap needed: +yes$/m)
    expect((await run('claim-registration', 'delete', ...wanted, '--json')).json()).toEqual({ success: true })
    ends(await run('claim-registration', 'delete', ...wanted), 1, 'No such claim registration')
  })

  test('is created by a code, and says until when', async () => {
    const code = await codeOf(chips.art(2))
    const made = await run('claim-registration', 'create', '--code', code, '--recipient', 'bob.eth', '--json')
    expect(made.json()).toMatchObject({ recipient: getAddress(bob), linkedToken: { tokenId: '2' } })
    const later = await codeOf(chips.art(2))
    ends(await run('transfer', '--code', later, '--recipient', bob), 1, 'becomes valid at')
    expect(await owner(2, 'ART')).toBe(getAddress(alice))
  })

  test('takes one of three actions', async () => {
    ends(await run('claim-registration', 'move'), 2, 'takes show, create, delete, not "move"')
    ends(await run('claim-registration'), 2, 'Missing required argument')
    ends(await run('claim-registration', 'show', '--code', 'x'), 2, 'A code creates a registration')
    const offered = await here.run('__complete', '--', 'phygitals', 'claim-registration', 's')
    expect(offered.stdout).toContain('show')
  })
})

describe('metadata', () => {
  const jacket = {
    name: 'Jacket',
    collection: 'Jackets',
    description: '',
    image: 'https://img.example/j.png',
    attributes: [{ trait_type: 'Size', value: 'L' }],
    media_gallery: [],
    season: 'winter',
  }
  const served = async () => (await fetch(`${daemon.url}/metadata/31337/${addressOf('JKT')}/8`)).json()

  test('is replaced by JSON, by a file, and from standard input', async () => {
    const ran = await run('metadata', ...token(8), '--metadata', JSON.stringify(jacket))
    ends(ran, 0, `${daemon.url}/metadata/31337/${addressOf('JKT')}/8`)
    // By the daemon's own base URL, wherever we reach it, which it tells to an API key as well.
    here.env.TAPCHIP_URL = daemon.url.replace('127.0.0.1', 'localhost')
    ends(
      await run('metadata', ...token(8), '--metadata', JSON.stringify(jacket)),
      0,
      `${daemon.url}/metadata/`,
    )
    delete here.env.TAPCHIP_ADMIN_TOKEN
    const byKey = await run('metadata', ...token(8), '--metadata', JSON.stringify(jacket))
    ends(byKey, 0, `Wallets and marketplaces read: ${daemon.url}/metadata/`)
    here.env.TAPCHIP_ADMIN_TOKEN = daemon.adminToken
    here.env.TAPCHIP_URL = daemon.url
    expect(await served()).toEqual(jacket)
    writeFileSync(join(here.home, 'jacket.json'), JSON.stringify({ ...jacket, name: 'From a file' }))
    expect((await run('metadata', ...token(8), '--metadata', '@jacket.json', '--json')).json()).toEqual({
      success: true,
    })
    expect(await served()).toMatchObject({ name: 'From a file' })
    here.stdin = JSON.stringify({ ...jacket, name: 'From a pipe' })
    expect((await run('metadata', ...token(8), '--metadata', '@-')).code).toBe(0)
    expect(await served()).toMatchObject({ name: 'From a pipe' })
  })

  test('that does not fit is refused, naming what', async () => {
    ends(await run('metadata', ...token(8), '--metadata', '{"name":1}'), 2, 'metadata.name')
    ends(await run('metadata', ...token(8), '--metadata', '{name}'), 2, '--metadata is not JSON')
    ends(await run('metadata', ...token(8), '--metadata', '@none.json'), 2, 'none.json does not exist')
    ends(await run('metadata', ...token(8)), 2, '--metadata is missing')
  })
})

test('the chip of a token is found without a key', async () => {
  delete here.env.TAPCHIP_API_KEY
  const ran = await run('chip', ...token(9))
  expect(ran.stdout).toMatch(/^UID: +\d+ \(04:A0:00:00:00:09:80\)\n$/)
  ends(await run('chip', ...token(999)), 1, 'No such token')
})

describe('edit-self', () => {
  const edit = (...args: string[]) => here.run('chips', 'edit-self', ...token(10), ...args)
  const url = 'https://bob.example/?a=1'

  test('prints what the owner signs, and takes the signature once', async () => {
    const account = privateKeyToAccount(generatePrivateKey())
    await run('transfer', ...token(10), '--recipient', account.address)
    expect(await owner(10)).toBe(account.address)
    delete here.env.TAPCHIP_API_KEY
    const printed = await edit('--redirect-url', url, '--print-typed-data')
    ends(printed, 0, '--expiry-time')
    const { types, ...request } = printed.json() as Parameters<typeof hashTypedData>[0] & {
      message: { requestExpiryTime: string }
    }
    const { EIP712Domain: _, ...own } = types as Record<string, []>
    const signature = await account.signTypedData({ ...request, types: own } as never)
    expect(await recoverAddress({ hash: hashTypedData({ ...request, types } as never), signature })).toBe(
      account.address,
    )
    const send = (...more: string[]) =>
      edit('--expiry-time', request.message.requestExpiryTime, '--signature', signature, ...more)
    ends(await send('--redirect-url', 'https://evil.example/'), 4, 'not the signature of the owner')
    const done = await send('--redirect-url', url, '--json')
    expect(done.json()).toEqual({ success: true, updatedTags: [expect.stringMatching(/^\d+$/)] })
    ends(await send('--redirect-url', url), 4, 'already been used')
    here.env.TAPCHIP_API_KEY = acmeKey
    const shown = await here.run('chips', 'show', chips.jacket(10), '--json')
    expect(shown.json()).toMatchObject({ redirectUrl: url })
  })

  test.each([
    [['--redirect-url', url], '--print-typed-data to see what to sign'],
    [['--print-typed-data'], 'Specify where: --redirect-url or --clear'],
    [['--clear', '--signature', '0x00'], '--expiry-time is missing'],
  ])('with %j is a usage error', async (args, text) => {
    ends(await edit(...args), 2, text)
  })
})
