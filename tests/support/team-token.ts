import { type Address, getAddress } from 'viem'
import { teamTokenAbi, teamTokenBytecode } from '../contracts/artifacts/team-token.ts'
import { chips, openPhygitals, type Phygitals } from './phygitals.ts'
import { minedReceipt } from './receipt.ts'
import { somebodyOn } from './wallet.ts'

/** As the contract numbers them. */
export const moods = { normal: 0, silent: 1, closed: 2, flood: 3 } as const

export const byApproval = 'transferFrom(owner,recipient,tokenId)'
export const mintTo = 'mintTo(recipient,tokenId)'

export type TeamToken = Awaited<ReturnType<typeof teamTokenOf>>

/** A contract of somebody's, who is its admin and knows nothing of Tapchip. */
export async function deployTeamToken(p: Pick<Phygitals, 'ctx'>) {
  const brand = await somebodyOn(p)
  const relayer = p.ctx.chains.get(31337).relayer
  const deployed = await brand.deployContract({
    abi: teamTokenAbi,
    bytecode: teamTokenBytecode,
    args: [brand.account.address],
  })
  const { contractAddress } = await minedReceipt(brand, deployed)
  if (!contractAddress) throw new Error('the contract was not deployed')
  const address = getAddress(contractAddress)
  const contract = { abi: teamTokenAbi, address } as const
  const done = (hash: `0x${string}`) => minedReceipt(brand, hash)
  return {
    address,
    brand: brand.account.address,
    async grant(role: 'MINTER_ROLE' | 'COURIER_ROLE', to: Address = relayer) {
      const hash = await brand.readContract({ ...contract, functionName: role })
      await done(await brand.writeContract({ ...contract, functionName: 'grantRole', args: [hash, to] }))
    },
    async revoke(role: 'MINTER_ROLE' | 'COURIER_ROLE') {
      const hash = await brand.readContract({ ...contract, functionName: role })
      await done(
        await brand.writeContract({ ...contract, functionName: 'revokeRole', args: [hash, relayer] }),
      )
    },
    async approve(isApproved = true) {
      const args = [relayer, isApproved] as const
      await done(await brand.writeContract({ ...contract, functionName: 'setApprovalForAll', args }))
    },
    /** The brand mints to itself. */
    async mint(...ids: number[]) {
      await this.grant('MINTER_ROLE', brand.account.address)
      for (const id of ids) {
        const args = [brand.account.address, BigInt(id)] as const
        await done(await brand.writeContract({ ...contract, functionName: 'mintTo', args }))
      }
    },
    /** The brand moves a token of its own. */
    async move(to: Address, id: number) {
      const args = [brand.account.address, to, BigInt(id)] as const
      await done(await brand.writeContract({ ...contract, functionName: 'transferFrom', args }))
    },
    async behave(mood: keyof typeof moods) {
      await done(await brand.writeContract({ ...contract, functionName: 'behave', args: [moods[mood]] }))
    },
  }
}

/** Likewise, with the hands of the team that registers it. */
export async function teamTokenOf(p: Phygitals) {
  const deployed = await deployTeamToken(p)
  const { address } = deployed
  return {
    ...deployed,
    register: (fields: object = {}) =>
      p.ask(
        '/admin/contracts',
        {
          ...{ team: 'Acme', symbol: 'TEAM', name: 'Team', chainId: 31337, address, abi: teamTokenAbi },
          ...{ transfer: byApproval, mint: mintTo },
          ...fields,
        },
        { headers: p.admin },
      ),
    /** Links a chip to a token. */
    async link(uid: string, id: number) {
      const token = { contractAddress: address, chainId: 31337, tokenId: String(id) }
      const linked = await p.ask(`/admin/chips/${uid}/link`, { token }, { headers: p.admin })
      if (linked.status !== 200) throw new Error(JSON.stringify(linked.body))
      return token
    },
    token: (id: number) => ({ contractAddress: address, chainId: 31337, tokenId: String(id) }),
  }
}

/** With chips of tokens 1 to 3, which the brand has; the relayer is approved and may mint. */
export async function openTeamToken(options?: Parameters<typeof openPhygitals>[0]) {
  const p = await openPhygitals(options)
  const t = await teamTokenOf(p)
  await t.mint(1, 2, 3)
  await t.approve()
  await t.grant('MINTER_ROLE')
  const registered = await t.register()
  if (registered.status !== 200) throw new Error(JSON.stringify(registered.body))
  for (const n of [1, 2, 3]) await t.link(chips.art(n), n)
  return { p, t, registered: registered.body }
}
