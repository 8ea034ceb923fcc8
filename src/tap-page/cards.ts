import { type Answer, page } from './page.ts'

const shown = new Map<string, string>()

/**
 * Brings the pieces of the page to where the daemon says that they are. @param isOfPress it answers a press: only that
 * answer knows why the press was refused, so that stays until the next one
 */
export function show({ cards }: Answer, isOfPress = false): void {
  for (const { key, html } of cards) {
    const card = page?.querySelector<HTMLElement>(`[data-card="${CSS.escape(key)}"]`)
    // What is being sent has an answer of its own.
    // One that was not there at first would push down what is below it: the page has it when it is loaded again.
    if (!card || card.hidden || shown.get(key) === html || card.querySelector('[aria-busy=true]')) continue
    const template = document.createElement('template')
    template.innerHTML = html
    const wanted = template.content.firstElementChild
    if (!wanted) continue
    shown.set(key, html)
    if (!isOfPress) keepRefusal(card, wanted)
    const isHere = card.contains(document.activeElement)
    const { height } = card.getBoundingClientRect()
    morph(card, wanted)
    keepPlace(card, height)
    // The form that had the focus is gone: go on where the result is read.
    if (isHere && !card.contains(document.activeElement))
      card.querySelector<HTMLElement>('[role=status]')?.focus({ preventScroll: true })
  }
  document.dispatchEvent(new Event('tapchip:shown'))
}

/** What is below a card may be under a finger that is on its way, so it stays where it is. */
function keepPlace(card: HTMLElement, height: number): void {
  card.style.minBlockSize = `${height}px`
  card.style.visibility = card.hidden ? 'hidden' : ''
  card.hidden = false
}

/** Gives the room of what is gone back, while nobody looks. */
export function giveRoomBack(): void {
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden) return
    for (const card of page?.querySelectorAll<HTMLElement>('[data-card]') ?? []) card.style.minBlockSize = ''
  })
}

/** The line that says what a press would do. */
export const checkOf = (form: Element): HTMLElement | null | undefined =>
  form.closest('[data-card]')?.querySelector<HTMLElement>('[data-check]')

function keepRefusal(card: Element, wanted: Element): void {
  const refusal = card.querySelector('[role=status][data-state=failed]')
  const silent = wanted.querySelector('[role=status]:not([data-state])')
  if (refusal && wanted.querySelector('form')) silent?.replaceWith(refusal.cloneNode(true))
}

/** What was refused is being corrected. */
export function forgetRefusal(form: Element): void {
  const card = form.closest<HTMLElement>('[data-card]')
  const status = card?.querySelector<HTMLElement>('[role=status][data-state=failed]')
  if (!card || !status) return
  status.replaceChildren()
  delete status.dataset.state
  form.querySelector('[aria-invalid]')?.removeAttribute('aria-invalid')
  shown.delete(card.dataset.card ?? '')
}

/** A sentence of the page in the place of a card's result. */
export function say(form: Element, text: string, state?: 'failed'): void {
  const card = form.closest<HTMLElement>('[data-card]')
  const status = card?.querySelector<HTMLElement>('[role=status]')
  if (!card || !status) return
  const line = document.createElement('p')
  line.textContent = text
  status.replaceChildren(line)
  if (state) status.dataset.state = state
  else delete status.dataset.state
  // It is not as the daemon said any more.
  shown.delete(card.dataset.card ?? '')
}

/** What the script put there itself; the daemon's HTML knows nothing of it. */
const own = 'data-own'

/**
 * Makes an element like another one, and keeps each part that both have: the field with what was typed, the focus, and
 * the element that a screen reader listens to.
 */
function morph(old: Element, next: Element): void {
  for (const { name } of [...old.attributes]) if (!next.hasAttribute(name)) old.removeAttribute(name)
  for (const { name, value } of next.attributes)
    if (old.getAttribute(name) !== value) old.setAttribute(name, value)
  // It answers what stands in the field now, which the daemon was not asked about here.
  if (!old.hasAttribute('data-check')) morphChildren(old, next)
}

function morphChildren(old: Element, next: Element): void {
  const left = [...old.childNodes].filter((node) => !isOwn(node))
  const pairs = [...next.childNodes].map((child) => {
    const index = left.findIndex((node) => isSame(node, child))
    return { child, kept: index < 0 ? undefined : left.splice(index, 1)[0] }
  })
  // First, so that those that stay need not move: a node that is moved loses the focus.
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
