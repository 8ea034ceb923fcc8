/** A chip cannot be set up, recovered, or reset. Nothing was written, unless the class says otherwise. */
export abstract class ProvisionError extends Error {
  /** The next step for the user, as a sentence without a full stop. */
  readonly advice: string

  constructor(message: string, advice: string, options?: ErrorOptions) {
    super(message, options)
    this.name = new.target.name
    this.advice = advice
  }
}

export class NotNtag424 extends ProvisionError {
  constructor(kind: string, options?: ErrorOptions) {
    super(
      `Only an NTAG 424 DNA can be set up, but the card is ${kind}`,
      'A HaLo tag needs no setup: import it by its public key. Otherwise, use an NTAG 424 DNA',
      options,
    )
  }
}

export class WrongChip extends ProvisionError {
  constructor() {
    super('This is not the same chip as before', 'Put the first chip back, or start again with this one')
  }
}

export class ForeignKeys extends ProvisionError {
  /** From GetKeyVersion, by key number. */
  readonly versions: readonly number[]

  constructor(versions: readonly number[], options?: ErrorOptions) {
    super(
      `The chip has keys that are not the expected ones (key versions ${versions.join(' ')})`,
      'It was set up with another key set or by another system. If you have its five keys: tapchip nfc reset --keys FILE, or nfc provision --rekey --keys FILE. If its key set can be loaded: tapchip key-sets create, then --rekey. If it is a blank chip: --try-factory-keys. Otherwise use another chip',
      options,
    )
    this.versions = versions
  }
}

/**
 * Changing a slot, or proving one after a reset, showed that its key does not match its version. Other slots may be
 * new: recover or reset with the journal.
 */
export class ForeignKeyInSlot extends ProvisionError {
  readonly keyNo: number

  constructor(keyNo: number, options?: ErrorOptions) {
    super(
      `Key ${keyNo} of the chip does not match its version`,
      'Another program changed it. If you have the keys of the chip: tapchip nfc reset --keys FILE. Otherwise use another chip; tapchip nfc reset frees the other keys of this one, and tapchip nfc recover --give-up UID ends its plan, if it has one',
      options,
    )
    this.keyNo = keyNo
  }
}

/** Keys that were supplied are not those of the chip. Nothing was changed. */
export class WrongKeys extends ProvisionError {
  constructor(why: string, advice: string, options?: ErrorOptions) {
    super(`The keys are not those of this chip: ${why}`, advice, options)
  }
}

/** The chip shows no more taps with these keys. */
export class CounterAtEnd extends ProvisionError {
  constructor(options?: ErrorOptions) {
    super(
      'The counter of the chip is at its end, so it gives no more taps',
      'New keys begin a new count: tapchip nfc provision --rekey',
      options,
    )
  }
}

/** Some keys are old and some are new. */
export class TornChip extends ProvisionError {
  constructor() {
    super('The chip was lifted during its setup', 'Run tapchip nfc recover with this chip')
  }
}

/** Key 0 cannot change the settings, or accepts no authentication any more. */
export class ChipLocked extends ProvisionError {
  constructor(why: string, options?: ErrorOptions) {
    super(`The chip is locked: ${why}`, 'This cannot be undone. Use another chip', options)
  }
}

/** In LRP mode, which a chip keeps for ever, and in which it needs more room for `{picc}` than was planned. */
export class LrpChip extends ProvisionError {
  constructor() {
    super(
      'The chip is in LRP mode, for which its URL was not planned',
      'Put the chip on the reader again and repeat the same command',
    )
  }
}

/** The chip delays authentication after 50 failed ones in a row. Every refused try is a part of the delay. */
export class AuthenticationDelayed extends ProvisionError {
  constructor(tries: number, options?: ErrorOptions) {
    super(
      `The chip refuses authentication after many failed attempts, and ${tries} more tries did not use up the delay`,
      'Repeat the same command with the right key set: each try shortens the delay, and none counts as a failed attempt',
      options,
    )
  }
}

/** The chip is not proven to be made by NXP. Nothing was written. */
export class NotGenuine extends ProvisionError {
  constructor(signature: 'none' | 'wrong') {
    super(
      `The chip is not proven to be made by NXP: ${signature === 'none' ? 'it gave no originality signature' : 'its originality signature belongs to another chip'}`,
      'It may be an imitation, so it was not changed. If you know its maker: tapchip nfc provision --allow-unsigned',
    )
  }
}

/** The reader did not pass a long command on. The plan is open: continue with shorter ones. */
export class ReaderLimit extends ProvisionError {
  constructor(lc: number, options?: ErrorOptions) {
    super(
      `The reader does not pass on commands with ${lc} bytes`,
      'Put the chip back: with this reader, Tapchip sends shorter ones from now on',
      options,
    )
  }
}

/** The chip has the planned keys but another URL or other settings. */
export class OtherTemplate extends ProvisionError {
  constructor() {
    super(
      'The chip is set up with this key set but shows a different URL, or has other data or records',
      'Changing this can reset the counter, which requires new keys: use --rekey',
    )
  }
}

export class ReadBackMismatch extends ProvisionError {
  constructor(what: string, options?: ErrorOptions) {
    super(`The chip was read back: ${what}`, 'Put it back and run tapchip nfc recover', options)
  }
}
