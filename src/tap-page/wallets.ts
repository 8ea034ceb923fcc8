import { checkOf } from './cards.ts'
import { word } from './page.ts'
import { fieldOf } from './recipient.ts'

/** EIP-1193 */
interface Provider {
  request(call: { method: string }): Promise<unknown>
}
interface Wallet {
  name: string | undefined
  provider: Provider
}

const maxWallets = 6

/** Offers each wallet in this browser to fill in the address (EIP-6963, else `window.ethereum`). */
export function offerWallets(): void {
  const wallets = new Map<unknown, Wallet>()
  const offerAll = () => {
    // The address is then copied to all forms, so buttons at each of them are unnecessary.
    const form = document.querySelector('form[data-action]')
    if (form) offer(form, [...wallets.values()])
  }
  addEventListener('eip6963:announceProvider', (event) => {
    const { detail } = event as CustomEvent<{ info?: { uuid?: unknown; name?: unknown }; provider?: unknown }>
    const { info, provider } = detail ?? {}
    if (!isProvider(provider) || (!wallets.has(info?.uuid) && wallets.size >= maxWallets)) return
    const wallet = { name: String(info?.name ?? '').slice(0, 40), provider }
    if (!wallets.has(info?.uuid)) void findOwn(wallet)
    wallets.set(info?.uuid, wallet)
    offerAll()
  })
  dispatchEvent(new Event('eip6963:requestProvider'))
  const lookInPage = () => {
    const { ethereum } = window as { ethereum?: unknown }
    if (wallets.size === 0 && isProvider(ethereum)) {
      const wallet = { name: undefined, provider: ethereum }
      wallets.set('', wallet)
      void findOwn(wallet)
    }
    offerAll()
  }
  lookInPage()
  // Wallet browsers on phones inject it later.
  addEventListener('ethereum#initialized', lookInPage, { once: true })
  document.addEventListener('tapchip:shown', offerAll)
  document.addEventListener('tapchip:shown', sayYours)
}

const isProvider = (value: unknown): value is Provider =>
  typeof value === 'object' && value !== null && typeof (value as Provider).request === 'function'

function offer(form: Element, wallets: Wallet[]): void {
  const field = fieldOf(form)
  if (!field || wallets.length === 0) return
  const room = form.querySelector('[data-wallets]')
  if (!room) return
  if (room.childElementCount !== wallets.length) room.replaceChildren(...wallets.map(buttonOf))
  // Buttons are inside the field, where they move nothing; input ends before them.
  field.style.paddingInlineEnd = `${room.clientWidth + 8}px`

  function buttonOf({ name, provider }: Wallet): HTMLButtonElement {
    const button = document.createElement('button')
    button.type = 'button'
    button.setAttribute('data-wallet', '')
    // The daemon's HTML does not have it.
    button.setAttribute('data-own', '')
    button.textContent = name || word('WalletShort')
    const label = name ? word('WalletNamed').replace('{name}', () => name) : word('Wallet')
    button.setAttribute('aria-label', label)
    button.addEventListener('click', () => void fill(form, field as HTMLInputElement, provider))
    return button
  }
}

/**
 * Says that the token is theirs to whoever has connected its owner's wallet to this page before. Wallets are asked for
 * what they have granted already, which opens no window.
 */
async function findOwn({ provider }: Wallet): Promise<void> {
  try {
    const accounts: unknown = await provider.request({ method: 'eth_accounts' })
    for (const account of Array.isArray(accounts) ? accounts.slice(0, 100) : [])
      if (typeof account === 'string') connected.add(account.toLowerCase())
    sayYours()
  } catch {
    // Nothing more is known.
  }
}

const connected = new Set<string>()

function sayYours(): void {
  const owner = document.querySelector<HTMLElement>('[data-owner]')?.dataset.owner?.toLowerCase()
  if (owner && connected.has(owner))
    for (const text of document.querySelectorAll<HTMLElement>('[data-yours]'))
      text.textContent = text.dataset.yours ?? ''
}

async function fill(form: Element, field: HTMLInputElement, provider: Provider): Promise<void> {
  const line = checkOf(form)
  // Some wallets never answer, and their window may be behind this one.
  if (line) line.textContent = word('WalletAsked')
  try {
    const accounts: unknown = await provider.request({ method: 'eth_requestAccounts' })
    const [account] = Array.isArray(accounts) ? accounts : []
    if (typeof account !== 'string' || !/^0x[0-9a-f]{40}$/i.test(account)) throw new TypeError('no account')
    connected.add(account.toLowerCase())
    sayYours()
    if (line) line.textContent = ''
    field.value = account
    for (const type of ['input', 'change']) field.dispatchEvent(new Event(type, { bubbles: true }))
    form.querySelector<HTMLElement>('[type=submit]')?.focus()
  } catch (error) {
    // EIP-1193: the user rejected the request.
    const isRefused = (error as { code?: unknown } | null)?.code === 4001
    if (line) line.textContent = word(isRefused ? 'WalletRefused' : 'WalletFailed')
  }
}
