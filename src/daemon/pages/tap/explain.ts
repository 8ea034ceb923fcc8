import type { Action, TapPage } from '../../domain/tap-page/content.ts'
import { type Html, html } from './html.ts'
import { roomFor } from './parts.ts'
import type { Strings } from './strings/strings.ts'
import { duration } from './times.ts'
import { shortened } from './wording.ts'

type Explained = Pick<Action, 'kind' | 'waitSeconds'>

/** Stands by an action before anything is entered: whoever can lose the piece by it is named. */
export function explain(
  { kind, waitSeconds = 0 }: Explained,
  content: Pick<TapPage, 'actions' | 'piece'>,
  strings: Strings,
): Html {
  const { explain: texts } = strings
  if (kind === 'register') return html`<p>${texts.register({ wait: duration(waitSeconds, strings) })}</p>`
  if (kind !== 'claim') return html`<p>${texts[kind]}</p>`
  if (isLater({ kind }, content.actions)) return html`<p>${texts.claimLater}</p>`
  if (content.actions.some((other) => other.kind === 'register')) return html`<p>${texts.claimStep}</p>`
  const { kind: of, owner, isUnowned } = content.piece
  if (of === 'item' || isUnowned) return html`<p>${texts.mint}</p>`
  const { name: known = '', address = '' } = owner ?? {}
  const isShort = known !== '' && known.length <= widestName.length
  const name = isShort ? known : shortened(address)
  const own = texts.claimOwn({ owner: name })
  const shown = owner
    ? html`<span data-yours="${own}">${owner.isYours ? own : texts.claimFrom({ owner: name })}</span>`
    : html`<span>${texts.claim}</span>`
  // The same before and after the chain has said whose it is.
  const widest = { owner: widestName }
  return html`<p${roomFor(html`${texts.claimFrom(widest)}`, html`${texts.claimOwn(widest)}`)}>${shown}</p>`
}

/** Most people do the first step now; only those who did it with an earlier tap can do the second. */
export const isLater = ({ kind }: Pick<Action, 'kind'>, actions: readonly Action[]): boolean =>
  kind === 'claim' && actions.some((other) => other.kind === 'register' && other.state.is === 'open')

export const walletExplained = ({ whatIsWallet, walletIs }: Strings): Html =>
  html`<details class="soft"><summary>${whatIsWallet}</summary><p>${walletIs}</p></details>`

/** As long as most names; instead of a longer one stands the address. */
const widestName = 'nnnnnnnnnnnnnnnn.eth'
