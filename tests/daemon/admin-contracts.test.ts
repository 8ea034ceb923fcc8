import { getAddress, keccak256, stringToBytes } from 'viem/utils'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { phygitalAbi } from '../../src/daemon/chain/artifacts/phygital.ts'
import { futureAddress, guessableSalt } from '../../src/daemon/domain/contracts/contract-address.ts'
import { reconcileChains } from '../../src/daemon/process/start.ts'
import { insertTransaction } from '../../src/daemon/store/chain/intents.ts'
import { updateContract } from '../../src/daemon/store/contracts/contracts.ts'
import { ensureToken, findTokenAt } from '../../src/daemon/store/phygitals/tokens.ts'
import { type AdminApp, openAdminApp, tenTimes } from '../support/admin.ts'
import { startAnvil } from '../support/anvil.ts'
import { askNode } from '../support/relayer.ts'

let t: AdminApp
beforeEach(async () => {
  t = await openAdminApp({
    seed: {
      version: 1,
      teams: [
        {
          name: 'Acme',
          contracts: [{ symbol: 'FUT', name: 'Future', chainId: 31337 }],
          guestbookContracts: [{ symbol: 'GB', name: 'Guests', chainId: 31337 }],
        },
        { name: 'Globex' },
      ],
    },
  })
})
afterEach(() => t.close())

const address = '0x5FbDB2315678afecb367f032d93F642f64180aa3'
const register = (fields: object = {}) =>
  t.call('POST /admin/contracts', {
    team: 'Acme',
    symbol: 'JKT',
    name: 'Jackets',
    chainId: 1,
    address,
    ...fields,
  })

test.each([address, address.toLowerCase(), `0x${address.slice(2).toUpperCase()}`])(
  'a deployed contract is registered as confirmed, its address %s shown with its checksum',
  async (given) => {
    const twoTap = { delaySeconds: 60, windowSeconds: 3600 }
    const registered = await register({ address: given, twoTap })
    expect(registered).toMatchObject({
      status: 200,
      body: {
        team: 'Acme',
        kind: 'phygital',
        symbol: 'JKT',
        chainId: 1,
        address,
        status: 'confirmed',
        twoTap,
      },
    })
    expect((await t.audit('action=contracts.create'))[0]).toMatchObject({
      actor: 'admin:root',
      target: 'JKT',
      team: 'Acme',
    })
  },
)

test('a contract without an address is pending and shows the one it will get; a guestbook’s shows null', async () => {
  expect((await t.call('GET /admin/contracts?team=Acme')).body).toMatchObject([
    {
      symbol: 'FUT',
      kind: 'phygital',
      status: 'pending',
      address: expect.stringMatching(/^0x[0-9a-fA-F]{40}$/),
    },
    { symbol: 'GB', kind: 'guestbook', status: 'pending', address: null },
  ])
})

test('the same address on a chain is registered once, whoever asks, and is free on another chain', async () => {
  expect(await tenTimes(() => register())).toEqual({ 200: 1, 409: 9 })
  const other = { team: 'Globex', symbol: 'OTHER', address: address.toLowerCase() }
  expect(await register(other)).toMatchObject({ status: 409, body: { code: 'already_exists' } })
  expect((await register({ ...other, chainId: 2 })).status).toBe(200)
})

test('a symbol is taken once in a team, a guestbook’s included', async () => {
  const another = '0xe7f1725E7734CE288F8367e1Bb143E90bb3F0512'
  expect((await register({ symbol: 'GB' })).status).toBe(409)
  expect((await register({ symbol: 'FUT' })).status).toBe(409)
  await register()
  expect((await register({ address: another })).status).toBe(409)
  expect((await register({ address: another, team: 'Globex' })).status).toBe(200)
})

const refusedFields: [string, object][] = [
  ['address', { address: '0x12' }],
  ['address', { address: undefined }],
  ['address', { address: `0x${'0'.repeat(40)}` }],
  ['chainId', { chainId: 0 }],
  ['symbol', { symbol: '' }],
  ['twoTap', { twoTap: { delaySeconds: -1, windowSeconds: 5 } }],
]

test('a contract of which something does not fit is refused, naming it', async () => {
  for (const [field, fields] of refusedFields) {
    const { status, body } = await register(fields)
    expect([status, body.message], JSON.stringify(fields)).toEqual([400, expect.stringContaining(field)])
  }
})

test('registering without its chain says that nobody looked at the contract', async () => {
  expect((await register()).body).toMatchObject({
    trustsSignVerifier: null,
    warnings: [expect.stringMatching(/Chain 1 is not configured here.*TAPCHIP_RPC_1/)],
  })
})

test('a deployment to a chain that is not configured is a 400, and nothing is written', async () => {
  const refused = await t.call('POST /admin/contracts/deploy', {
    team: 'Acme',
    symbol: 'NEW',
    name: 'New ones',
    chainId: 8453,
  })
  expect(refused).toMatchObject({ status: 400, body: { code: 'chain_not_configured' } })
  expect(refused.body.message).toContain('TAPCHIP_RPC_8453')
  expect((await t.call('GET /admin/contracts?team=Acme')).body).toHaveLength(2)
})

describe('a contract that nothing uses', () => {
  const remove = (id: number) => t.call(`DELETE /admin/contracts/${id}`)
  const idOf = async (symbol: string): Promise<number> =>
    (await t.call('GET /admin/contracts?team=Acme')).body.find(
      (contract: { symbol: string }) => contract.symbol === symbol,
    )?.id

  test('is forgotten where it was registered by mistake, and its symbol and address are free again', async () => {
    const { id } = (await register()).body
    expect(await remove(id)).toMatchObject({ status: 200, body: { success: true } })
    expect((await t.audit('action=contracts.delete'))[0]).toMatchObject({
      actor: 'admin:root',
      target: 'JKT',
      team: 'Acme',
      detail: { kind: 'phygital', chainId: 1, address },
    })
    expect((await remove(id)).status).toBe(404)
    expect((await register()).status).toBe(200)
  })

  test('is forgotten where nothing deploys it, and stays while something does', async () => {
    const future = await idOf('FUT')
    const { db } = t.ctx
    const sent = await db.write((trx) =>
      insertTransaction(trx, {
        teamId: null,
        chainId: 31337,
        signer: 'relayer',
        kind: 'phygital-deploy',
        topic: null,
        subject: '{}',
        createdAt: '2026-06-01T12:00:00.000Z',
        to: null,
        data: '0x',
        gas: 1,
        builder: null,
        args: null,
      }),
    )
    await db.write((trx) => updateContract(trx, future, { transactionId: sent }))
    expect(await remove(future)).toMatchObject({
      status: 409,
      body: { code: 'conflict', message: expect.stringContaining(`transactions cancel ${sent}`) },
    })
    // As after a deployment that failed for good.
    await db.write((trx) => updateContract(trx, future, { transactionId: null }))
    expect((await remove(future)).status).toBe(200)
    await db.write((trx) => updateContract(trx, 2, { status: 'confirmed', transactionId: sent }))
    expect((await remove(await idOf('GB'))).body.message).toMatch(/was deployed from here/)
  })

  test('is one without chips, items and events: what is in use stays, and says by what', async () => {
    const { id } = (await register()).body
    await t.call('POST /admin/items', { team: 'Acme', id: 'jacket', name: 'Jacket', contract: 'JKT' })
    const inUse = await remove(id)
    expect(inUse).toMatchObject({ status: 409, body: { code: 'in_use' } })
    expect(inUse.body.message).toBe('JKT is in use: items that mint on it (1). Remove these first.')
    await t.call('DELETE /admin/items/jacket?team=Acme')
    const { db } = t.ctx
    const place = { contractAddress: address, chainId: 1, tokenId: '5' }
    await db.write((trx) => ensureToken(trx, { contractId: id, tokenId: '5', createdAt: '' }))
    // A token that no chip carries goes with it.
    expect((await remove(id)).status).toBe(200)
    expect(await findTokenAt(db.read, place)).toBeUndefined()
  })

  test('ten who remove it at once have it removed once', async () => {
    const { id } = (await register()).body
    expect(await tenTimes(() => remove(id))).toEqual({ 200: 1, 404: 9 })
    expect(await t.audit('action=contracts.delete')).toHaveLength(1)
  })
})

test('a two-tap policy is set and cleared, on contracts that know one', async () => {
  const { id } = (await register()).body
  const twoTap = { delaySeconds: 60, windowSeconds: 3600 }
  expect((await t.call(`PATCH /admin/contracts/${id}`, { twoTap })).body).toMatchObject({
    team: 'Acme',
    twoTap,
  })
  expect((await t.call(`PATCH /admin/contracts/${id}`, { twoTap: null })).body.twoTap).toBeNull()
  expect((await t.call(`PATCH /admin/contracts/${id}`, {})).status).toBe(400)
  expect((await t.audit('action=contracts.edit')).map(({ detail }) => detail)).toEqual([
    { twoTap: null },
    { twoTap },
  ])
  const [, guestbook] = (await t.call('GET /admin/contracts?team=Acme')).body
  expect((await t.call(`PATCH /admin/contracts/${guestbook.id}`, { twoTap })).status).toBe(409)
  expect((await t.call('PATCH /admin/contracts/99', { twoTap })).status).toBe(404)
})

test('only a contract that was deployed from here is told a base URL', async () => {
  const tell = (id: number) => t.call(`POST /admin/contracts/${id}/service-url`, {})
  const { id } = (await register()).body
  // Chain 1 is not configured here.
  expect((await tell(id)).status).toBe(400)
  expect((await tell(99)).status).toBe(404)
})

describe('on the embedded chain', () => {
  let c: AdminApp
  beforeAll(async () => {
    c = await openAdminApp({
      chain: true,
      seed: { version: 1, teams: [{ name: 'Acme' }, { name: 'Globex' }] },
    })
  })
  afterAll(() => c.close())

  const deploy = (fields: object = {}, headers: object = {}) =>
    c.call(
      'POST /admin/contracts/deploy',
      { team: 'Acme', symbol: 'JKT', name: 'Jackets', chainId: 31337, ...fields },
      { ...c.admin, ...headers },
    )
  const settled = (id: number) => c.ctx.chains.relayer.settled(id)
  const read = (address: string, functionName: 'baseURI' | 'owner' | 'getSignVerifier') =>
    c.ctx.chains
      .get(31337)
      .client.readContract({ abi: phygitalAbi, address: getAddress(address), functionName })

  test('a contract is deployed to the address that it is answered with, and trusts this daemon', async () => {
    const twoTap = { delaySeconds: 60, windowSeconds: 3600 }
    const { status, body } = await deploy({ twoTap })
    expect({ status, body }).toMatchObject({
      status: 200,
      body: { team: 'Acme', kind: 'phygital', symbol: 'JKT', status: 'pending', twoTap, warnings: [] },
    })
    expect(await settled(body.transactionId)).toMatchObject({ name: 'confirmed' })
    const [listed] = (await c.call('GET /admin/contracts?team=Acme')).body
    expect(listed).toMatchObject({ address: body.address, status: 'confirmed', serviceUrl: c.ctx.baseUrl })
    expect(await read(body.address, 'getSignVerifier')).toBe(c.ctx.chains.get(31337).signVerifier.address)
    expect(await c.audit('action=contracts.deploy')).toMatchObject([
      { actor: 'admin:root', target: 'JKT', team: 'Acme', detail: { transaction: body.transactionId } },
    ])
  })

  test('is deployed once: by its symbol, and by an Idempotency-Key that gives the first answer again', async () => {
    expect((await deploy()).body).toMatchObject({ statusCode: 409, code: 'already_exists' })
    expect(await tenTimes(() => deploy({ symbol: 'TEN' }))).toEqual({ 200: 1, 409: 9 })
    const again = { 'idempotency-key': 'deploy-1' }
    const first = await deploy({ symbol: 'ONCE' }, again)
    expect((await deploy({ symbol: 'ONCE' }, again)).body).toEqual(first.body)
    expect((await deploy({ symbol: 'OTHER' }, again)).body.code).toBe('idempotency_conflict')
  })

  test('a contract that is there already is registered, and looked at', async () => {
    const { address } = (await c.call('GET /admin/contracts?team=Acme')).body[0]
    await c.ctx.db.write((trx) => trx.deleteFrom('contracts').where('address', '=', address).execute())
    const register = (fields: object) =>
      c.call('POST /admin/contracts', {
        team: 'Globex',
        symbol: 'OLD',
        name: 'Old',
        chainId: 31337,
        ...fields,
      })
    const trusting = await register({ address })
    const { relayer, signVerifier } = c.ctx.chains.get(31337)
    expect(trusting.body).toMatchObject({
      code: 'ours',
      owner: relayer,
      signVerifier: signVerifier.address,
      trustsSignVerifier: true,
      warnings: [],
      transactionId: null,
    })
    const told = await c.call(`POST /admin/contracts/${trusting.body.id}/service-url`, {})
    expect(told).toMatchObject({ status: 409, body: { code: 'conflict' } })
    expect(told.body.message).toContain(`setBaseURI("${c.ctx.baseUrl}/metadata/31337/${address}/")`)

    const nowhere = await register({ symbol: 'NO', address: '0x5FbDB2315678afecb367f032d93F642f64180aa3' })
    expect(nowhere.body.warnings[0]).toMatch(/There is no contract at 0x5FbD/)
    const other = await register({ symbol: 'PXY', address: '0x4e59b44847b379578588920cA78FbF26c0B4956C' })
    expect(other.body).toMatchObject({
      code: 'other',
      owner: null,
      trustsSignVerifier: null,
      warnings: [
        expect.stringMatching(/names no sign verifier/),
        expect.stringMatching(/is not what this version of Tapchip deploys/),
      ],
    })
  })

  test('a contract is told the base URL when asked to, and once', async () => {
    const { id, address, transactionId } = (await deploy({ symbol: 'URL' })).body
    await settled(transactionId)
    const tell = (body = {}) => c.call(`POST /admin/contracts/${id}/service-url`, body)
    expect((await tell()).body.sentTransactionId).toBeNull()
    const before = c.ctx.baseUrl
    c.ctx.baseUrl = 'https://tap.example.com'
    const told = (await tell()).body
    expect(told).toMatchObject({
      serviceUrl: 'https://tap.example.com',
      sentTransactionId: expect.any(Number),
    })
    await settled(told.sentTransactionId)
    expect(await read(address, 'baseURI')).toBe(`https://tap.example.com/metadata/31337/${address}/`)
    expect((await tell()).body.sentTransactionId).toBeNull()
    expect((await tell({ force: true })).body.sentTransactionId).toBeGreaterThan(told.sentTransactionId)
    expect(await c.audit('action=contracts.set-url')).toHaveLength(2)
    c.ctx.baseUrl = before
  })
})

describe('on a chain that others run', () => {
  const key = (name: string) => keccak256(stringToBytes(`test: ${name}`))
  const lines: string[] = []
  let c: AdminApp
  beforeAll(async () => {
    c = await openAdminApp({
      seed: { version: 1, teams: [{ name: 'Acme' }] },
      log: (line) => lines.push(line),
      env: {
        TAPCHIP_RPC_777: 'http://127.0.0.1:1',
        TAPCHIP_RELAYER_KEY_777: key('relayer'),
        TAPCHIP_SIGN_VERIFIER_KEY_777: key('sign verifier'),
      },
    })
  })
  afterAll(() => c.close())

  test('a base URL that nobody else can reach is warned of, and so is one that has changed', async () => {
    const { body } = await c.call('POST /admin/contracts/deploy', {
      team: 'Acme',
      symbol: 'JKT',
      name: 'Jackets',
      chainId: 777,
    })
    expect(body.warnings).toEqual([expect.stringMatching(/is only reachable from this machine.*--base-url/)])
    await reconcileChains(c.ctx)
    expect(lines.filter((line) => line.includes('set-url'))).toEqual([])
    c.ctx.baseUrl = 'https://tap.example.com'
    await reconcileChains(c.ctx)
    const warned = lines.filter((line) => line.includes('tapchip contracts set-url JKT'))
    expect(warned.map((line) => JSON.parse(line))).toMatchObject([
      { level: 40, chainId: 777, symbol: 'JKT', baseUrl: 'https://tap.example.com' },
    ])
    expect((await c.call('GET /admin/contracts')).body[0].serviceUrl).not.toBe('https://tap.example.com')
    const there = await c.call('POST /admin/contracts', {
      symbol: 'OLD',
      name: 'Old',
      chainId: 777,
      address: '0x5FbDB2315678afecb367f032d93F642f64180aa3',
    })
    expect(there.body.warnings[0]).toContain('Chain 777 does not answer')
  })
})

test('a contract that trusts another daemon says so when it is registered, and whose word it takes', async () => {
  const anvil = await startAnvil(['--chain-id', '777'])
  const key = (name: string) => keccak256(stringToBytes(`test: ${name}`))
  const open = (name: string) =>
    openAdminApp({
      seed: { version: 1, teams: [{ name: 'Acme' }] },
      env: {
        TAPCHIP_RPC_777: anvil.url,
        TAPCHIP_CONFIRMATIONS_777: '1',
        TAPCHIP_RELAYER_KEY_777: key(`relayer of ${name}`),
        TAPCHIP_SIGN_VERIFIER_KEY_777: key(`verifier of ${name}`),
      },
    })
  const [one, other] = [await open('one'), await open('other')]
  const { relayer, signVerifier } = one.ctx.chains.get(777)
  await askNode(anvil.url, 'anvil_setBalance', [relayer, '0xde0b6b3a7640000'])
  const fields = { symbol: 'JKT', name: 'Jackets', chainId: 777 }
  const deployed = (await one.call('POST /admin/contracts/deploy', fields)).body
  one.ctx.start()
  expect(await one.ctx.chains.relayer.settled(deployed.transactionId)).toMatchObject({ name: 'confirmed' })
  const { body } = await other.call('POST /admin/contracts', { ...fields, address: deployed.address })
  expect(body).toMatchObject({ status: 'confirmed', trustsSignVerifier: false })
  expect(body.warnings).toEqual([
    expect.stringMatching(
      new RegExp(
        `trusts the sign verifier ${signVerifier.address}.*setSignVerifier.*TAPCHIP_SIGN_VERIFIER_KEY_777`,
      ),
    ),
    expect.stringMatching(new RegExp(`belongs to ${relayer}, not to this daemon's relayer`)),
  ])
  await one.close()
  await other.close()
  await anvil.kill()
})

describe('the address of a contract to come', () => {
  const place = { chainId: 31337, team: 'Acme', symbol: 'JKT' }

  test('is the same on every dev chain, and another for each team, symbol and chain', () => {
    const others = [
      { ...place, team: 'Acm', symbol: 'eJKT' },
      { ...place, symbol: 'GB' },
      { ...place, chainId: 1 },
    ].map(futureAddress)
    expect(new Set([futureAddress(place), ...others]).size).toBe(4)
  })

  test('is the one that CREATE3 gives, and never changes from one version to the next', () => {
    // By hand: CREATE2 is the hash of 0xff, factory, salt and code hash (EIP-1014); CREATE with nonce 1 is that of
    // the RLP of both. The code hash is the one that Solmate's and Solady's CREATE3 have.
    const codeHash = '21c35dbe1b344a2488cf3321d6ce542f8e9f305544ff09e4993a62319a497c1f'
    const salt = guessableSalt(place).slice(2)
    const proxy = keccak256(`0xff4e59b44847b379578588920cA78FbF26c0B4956C${salt}${codeHash}`).slice(26)
    const address = keccak256(`0xd694${proxy}01`).slice(26)
    expect(futureAddress(place).toLowerCase()).toBe(`0x${address}`)
    expect(futureAddress(place)).toBe('0x151cF5f9746dA7Fb6C5c7D78983E5b74087bD6C0')
  })
})
