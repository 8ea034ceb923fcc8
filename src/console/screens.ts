import type { ComponentType } from 'preact'
import { type ActKey, type ReadKey, type ScreenName, screenPaths } from './requests.ts'
import type { ScreenProps } from './router.tsx'
import { BatchScreen } from './screens/batches/batch.tsx'
import { BatchesScreen } from './screens/batches/batches.tsx'
import { ChainScreen } from './screens/chain/chain.tsx'
import { ChipScreen } from './screens/chips/chip.tsx'
import { ChipsScreen } from './screens/chips/chips.tsx'
import { DaemonScreen } from './screens/daemon/daemon.tsx'
import { EventsScreen } from './screens/events/events.tsx'
import { LookScreen } from './screens/look/look.tsx'
import { NowScreen } from './screens/now/now.tsx'
import { TableScreen } from './screens/table/table.tsx'
import { WebhooksScreen } from './screens/webhooks/webhooks.tsx'
import { may } from './session.ts'

interface Screen {
  readonly name: ScreenName
  readonly view: ComponentType<ScreenProps>
  /** Where the navigation leads; undefined: it is reached from another screen. */
  readonly to?: string
  /** The screen it belongs to in the navigation. */
  readonly under?: ScreenName
  /** Not shown to a credential that may not do this. */
  readonly needs: ReadKey | ActKey
}

/** In the order of the navigation. */
const all: readonly Screen[] = [
  { name: 'now', to: '/now', view: NowScreen, needs: 'GET /admin/taps/pulse' },
  { name: 'chips', to: '/chips', view: ChipsScreen, needs: 'GET /admin/chips/:uid' },
  { name: 'chip', under: 'chips', view: ChipScreen, needs: 'GET /admin/chips/:uid' },
  { name: 'batches', to: '/batches', view: BatchesScreen, needs: 'GET /admin/batches' },
  { name: 'batch', under: 'batches', view: BatchScreen, needs: 'GET /admin/batches/:id' },
  { name: 'events', to: '/events', view: EventsScreen, needs: 'GET /admin/events/rates' },
  { name: 'chain', to: '/chain', view: ChainScreen, needs: 'GET /admin/transactions/stats' },
  { name: 'webhooks', to: '/webhooks', view: WebhooksScreen, needs: 'GET /admin/webhooks/health' },
  { name: 'table', to: '/table', view: TableScreen, needs: 'GET /admin/nfc/stations' },
  { name: 'look', to: '/look', view: LookScreen, needs: 'GET /admin/pages/preview' },
  { name: 'daemon', to: '/daemon', view: DaemonScreen, needs: 'GET /admin/status' },
]

/** The screens that the credential may see. */
export const screens = (): readonly Screen[] => all.filter(({ needs }) => may(needs))

/** @returns the screen at a path, and the ID in it */
export function screenAt(path: string): { readonly screen: Screen; readonly id: string } | undefined {
  for (const screen of screens()) {
    const found = screenPaths[screen.name].exec(path)
    if (found) return { screen, id: decoded(found[1] ?? '') }
  }
  return undefined
}

/** A mistyped escape leads to a screen that finds nothing, not to an empty page. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
