import { type Answer, page } from './page.ts'

const shown = new Map<string, string>()

/**
 * Updates the cards of the page to the daemon's state.
 * @param isOfPress the answer to a press: only this has the reason of a refusal, which stays until the next press
 */
export function show({ cards }: Answer, isOfPress = false): void {
  for (const { key, html } of cards) {
    const card = page?.querySelector<HTMLElement>(`[data-card="${CSS.escape(key)}"]`)
    // A card whose form is being sent gets its own answer. A card that did not exist at first would push down
    // what is below it; it appears on reload.
    if (!card || card.hidden || shown.get(key) === html || card.querySelector('[aria-busy=true]')) continue
    const template = document.createElement('template')
    template.innerHTML = html
    const replacement = template.content.firstElementChild
    if (!replacement) continue
    shown.set(key, html)
    if (!isOfPress) keepRefusal(card, replacement)
    const isHere = card.contains(document.activeElement)
    const heights = partsOf(card).map((part) => part.getBoundingClientRect().height)
    morph(card, replacement)
    for (const [index, part] of partsOf(card).entries()) keepPlace(part, heights[index] ?? 0)
    // The form that had the focus is gone: focus its result instead.
    if (isHere && !card.contains(document.activeElement))
      (statusOf(card) ?? card.querySelector<HTMLElement>('[role=status]'))?.focus({ preventScroll: true })
  }
  document.dispatchEvent(new Event('tapchip:shown'))
}

/** A card, and the actions that are listed in it. */
const partsOf = (card: HTMLElement): HTMLElement[] => [
  card,
  ...card.querySelectorAll<HTMLElement>('[data-card]'),
]

/** Elements below a card may be under a finger on its way, so they stay in place. */
function keepPlace(card: HTMLElement, height: number): void {
  card.style.minBlockSize = `${height}px`
  card.style.visibility = card.hidden ? 'hidden' : ''
  card.hidden = false
}

/** Removes empty space while the page is hidden. */
export function giveRoomBack(): void {
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden) return
    for (const card of page?.querySelectorAll<HTMLElement>('[data-card]') ?? []) card.style.minBlockSize = ''
  })
}

/** The line that describes what a press would do. */
export const checkOf = (form: Element): HTMLElement | null | undefined =>
  form.closest('[data-card]')?.querySelector<HTMLElement>('[data-check]')

function keepRefusal(card: Element, replacement: Element): void {
  // What was entered here came too late: without this, another tab's result would look like its own.
  const tooLate = card.querySelector('[data-too-late]')
  const first = replacement.querySelector('[role=status][data-state]>p')
  if (tooLate && first && !replacement.querySelector('[data-too-late]')) first.after(tooLate.cloneNode(true))
  if (!replacement.querySelector('form')) return
  for (const refusal of card.querySelectorAll(refusals)) {
    const silent = replacement.querySelector(`#${CSS.escape(refusal.id)}:not([data-state])`)
    // An action of several that can no longer be done has no box to tick.
    const row = silent?.closest('li')
    if (!row || row.querySelector('input')) silent?.replaceWith(refusal.cloneNode(true))
  }
}

const refusals = '[role=status][data-state=failed]'

/** The place for what a card says as a whole; actions that are listed in it have their own. */
const statusOf = (card: HTMLElement): HTMLElement | null =>
  card.querySelector(`#${CSS.escape(`${card.dataset.card}-status`)}`)

/** The refused input is being corrected. */
export function forgetRefusal(form: Element): void {
  const card = form.closest<HTMLElement>('[data-card]')
  const failed = [...(card?.querySelectorAll<HTMLElement>(refusals) ?? [])]
  if (!card || failed.length === 0) return
  for (const status of [...failed, statusOf(card)]) {
    status?.replaceChildren()
    delete status?.dataset.state
  }
  form.querySelector('[aria-invalid]')?.removeAttribute('aria-invalid')
  shown.delete(card.dataset.card ?? '')
}

/** Shows one of the page's sentences in place of a card's result. */
export function say(form: Element, text: string, state?: 'failed'): void {
  const card = form.closest<HTMLElement>('[data-card]')
  const status = card && statusOf(card)
  if (!status) return
  const line = document.createElement('p')
  line.textContent = text
  status.replaceChildren(line)
  if (state) status.dataset.state = state
  else delete status.dataset.state
  // It no longer matches the daemon's HTML.
  shown.delete(card.dataset.card ?? '')
}

/** Content that the script added itself; the daemon's HTML does not have it. */
const own = 'data-own'

/**
 * Makes an element like another one, but keeps parts that both have: the field with its input, the focus, and the
 * element that a screen reader observes.
 */
function morph(old: Element, next: Element): void {
  for (const { name } of [...old.attributes]) if (!next.hasAttribute(name)) old.removeAttribute(name)
  for (const { name, value } of next.attributes)
    if (old.getAttribute(name) !== value) old.setAttribute(name, value)
  // It describes the field's current input, which the daemon was not asked about here.
  if (!old.hasAttribute('data-check')) morphChildren(old, next)
}

function morphChildren(old: Element, next: Element): void {
  const left = [...old.childNodes].filter((node) => !isOwn(node))
  const pairs = [...next.childNodes].map((child) => {
    const index = left.findIndex((node) => isSame(node, child))
    return { child, kept: index < 0 ? undefined : left.splice(index, 1)[0] }
  })
  // Removes first, so that remaining nodes need not move: moving a node loses the focus.
  for (const node of left) node.remove()
  let place = skipOwn(old.firstChild)
  for (const { child, kept } of pairs) {
    const node = kept ?? child
    if (node === place) place = skipOwn(node.nextSibling)
    else old.insertBefore(node, place)
    if (kept instanceof Element) morph(kept, child as Element)
    else if (kept && kept.nodeValue !== child.nodeValue) kept.nodeValue = child.nodeValue
  }
}

const isOwn = (node: Node): boolean => node instanceof Element && node.hasAttribute(own)

function skipOwn(node: ChildNode | null): ChildNode | null {
  let next = node
  while (next && isOwn(next)) next = next.nextSibling
  return next
}

const identity = ['role', 'id', 'name', 'type', 'data-action']

function isSame(one: Node, other: Node): boolean {
  if (one.nodeName !== other.nodeName) return false
  if (!(one instanceof Element && other instanceof Element)) return true
  return identity.every((name) => one.getAttribute(name) === other.getAttribute(name))
}
