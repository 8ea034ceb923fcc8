import { chip } from './chip.ts'
import { claimRegistration } from './claim-registration.ts'
import { metadata } from './metadata.ts'
import { transfer } from './transfer.ts'
import { transferSignature } from './transfer-signature.ts'

export const verbs = [transfer, transferSignature, metadata, claimRegistration, chip]
