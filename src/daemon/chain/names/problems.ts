import { devChainId } from '../dev-chain/dev-keys.ts'

/** Why a recipient has no address. The messages say what to do, and may be shown to whoever gave the name. */
export abstract class NameProblem extends Error {}

/** What was given is neither an address nor a name: no question was asked. */
export class RecipientInvalid extends NameProblem {
  override readonly name = 'RecipientInvalid'
}

/** The name service was asked, and has no address for this name. */
export class UnknownName extends NameProblem {
  override readonly name = 'UnknownName'
}

/** Nobody could say: a node or a gateway gave no answer. The name may well exist. */
export class NameUnavailable extends NameProblem {
  override readonly name = 'NameUnavailable'
}

/** The chain where such names live is none that can be asked here. */
export class NameChainMissing extends NameProblem {
  override readonly name = 'NameChainMissing'
  /** What somebody may see who has no say in the settings. */
  readonly forStrangers: string
  constructor(name: string, chainId: number) {
    const where = `${name} is looked up on chain ${chainId}, which is not`
    const next =
      chainId === devChainId
        ? 'start the daemon without TAPCHIP_DEV_CHAIN=off'
        : `set TAPCHIP_RPC_${chainId} to an RPC URL`
    super(`${where} configured: ${next}, or give the address (0x…)`)
    this.forStrangers = `${where} set up here: give the address (0x…)`
  }
}
