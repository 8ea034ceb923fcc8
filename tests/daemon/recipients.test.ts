import { getAddress } from 'viem'
import { expect, test, vi } from 'vitest'
import { bob, chips, phygitalsForTest } from '../support/phygitals.ts'
import { acmeKey } from '../support/seeds.ts'

test('a name is looked up in the place of whoever asks: a team, the one who tapped, or a network', async () => {
  const p = await phygitalsForTest()
  const { resolve } = p.ctx.names
  const askers: object[] = []
  vi.spyOn(p.ctx.names, 'resolve').mockImplementation((asker, ...rest) => {
    askers.push(asker)
    return resolve(asker, ...rest)
  })
  const token = p.token('JKT', 1)
  const path = `/phygitals/claim-registration?${new URLSearchParams({ ...token, chainId: '31337', recipient: 'bob.eth' })}`
  const asked = async (answer: Promise<{ status: number }>) => {
    expect((await answer).status).toBe(200)
    return askers.splice(0)
  }
  const team = await p.ctx.db.read
    .selectFrom('teams')
    .selectAll()
    .where('name', '=', 'Acme')
    .executeTakeFirst()
  const acme = { team: team?.id }
  expect(await asked(p.ask(path))).toEqual([{ client: '127.0.0.1' }])
  expect(await asked(p.ask(path, undefined, { key: 'not-a-key' }))).toEqual([{ client: '127.0.0.1' }])
  expect(await asked(p.ask(path, undefined, { key: acmeKey }))).toEqual([acme])
  const to = { recipient: 'bob.eth' }
  expect(await asked(p.ask('/phygitals/transfer', { ...token, ...to }, { key: acmeKey }))).toEqual([acme])
  const code = await p.code(chips.jacket(2))
  expect(await asked(p.ask('/phygitals/transfer/pullable', to, { code }))).toEqual([
    { chip: String(BigInt(`0x${chips.jacket(2)}`)) },
  ])
})

test('an address may name the chain of its token, as wallets copy it, and no other', async () => {
  const p = await phygitalsForTest()
  const to = (recipient: string, n = 1) =>
    p.ask('/phygitals/transfer', { ...p.token('JKT', n), recipient }, { key: acmeKey })
  expect((await to(`eip155:31337:${bob}`)).status).toBe(200)
  expect(await p.owner('JKT', 1)).toBe(getAddress(bob))
  for (const recipient of [`base:${bob}`, `eip155:8453:${bob}`]) {
    const { status, body } = await to(recipient, 2)
    expect({ status, code: body.code }).toEqual({ status: 400, code: 'recipient_invalid' })
    expect(body.message).toBe(
      `recipient: "${recipient}" names chain 8453 (base), and this token is on chain 31337. Nothing was used up.`,
    )
  }
  // A code that was refused is still good.
  const code = await p.code(chips.jacket(3))
  const pull = (recipient: string) => p.ask('/phygitals/transfer/pullable', { recipient }, { code })
  expect((await pull(`polygon:${bob}`)).body).toMatchObject({
    code: 'recipient_invalid',
    message: expect.stringContaining('begins with polygon:, which is not a chain known here'),
  })
  expect((await pull(`eip155:31337:${bob}`)).status).toBe(200)
})
