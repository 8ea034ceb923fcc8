import type { Kind } from './kind.ts'
import { badgeCreation } from './kinds/badges.ts'
import { metadata } from './kinds/metadata.ts'
import { transfer } from './kinds/transfer.ts'

export const kinds: readonly Kind[] = [transfer, metadata, badgeCreation]
