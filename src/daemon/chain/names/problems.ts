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

/** Nobody could say: a node or a gateway gave no answer, or is not configured. The name may well exist. */
export class NameUnavailable extends NameProblem {
  override readonly name = 'NameUnavailable'
}
