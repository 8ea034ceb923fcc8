/** What the script put there itself; the daemon's HTML knows nothing of it. */
const own = 'data-own'

/**
 * Makes an element like another one, and keeps each part that both have: the field with what was typed, the focus, and
 * the element that a screen reader listens to.
 */
export function morph(old: Element, next: Element): void {
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
