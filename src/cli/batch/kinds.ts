import type { Kind } from './kind.ts'
import { badgeCreation } from './kinds/badges.ts'

export const kinds: readonly Kind[] = [badgeCreation]
