import { useEffect, useRef, useState } from 'preact/hooks'
import type { Session } from './api'

/** Properties of all views. A view is created anew for each URL. */
export interface ViewProps {
  readonly session: Session
  /** Query after the path in the fragment of the URL. */
  readonly query: URLSearchParams
}

/** Data that a view has loaded, or the message of the error. */
interface Loaded<Data> {
  readonly data?: Data
  readonly error?: string
}

/**
 * Loads the data of a view when it is created, and again when `reload` is called.
 * @param load sends one request
 */
export function useData<Data>(load: (signal: AbortSignal) => Promise<Data>) {
  const [loaded, setLoaded] = useState<Loaded<Data>>({})
  const [attempt, setAttempt] = useState(1)
  useEffect(() => {
    const controller = new AbortController()
    load(controller.signal).then(
      (data) => setLoaded({ data }),
      ({ message }: Error) => controller.signal.aborted || setLoaded({ error: message }),
    )
    return () => controller.abort()
  }, [attempt])
  return { ...loaded, reload: () => setAttempt(attempt + 1) }
}

/**
 * Follows a live list while a view is shown.
 * @param watch opens one stream of events
 */
export function useLive<Data>(watch: (signal: AbortSignal) => AsyncIterable<Data>) {
  const [loaded, setLoaded] = useState<Loaded<Data>>({})
  useEffect(() => {
    const controller = new AbortController()
    const follow = async (): Promise<void> => {
      for await (const data of watch(controller.signal)) setLoaded({ data })
    }
    follow().catch(({ message }: Error) => controller.signal.aborted || setLoaded({ error: message }))
    return () => controller.abort()
  }, [])
  return loaded
}

/** Runs actions of the user. The error of the last one is shown. */
export function useAction() {
  const [error, setError] = useState<string>()
  const run = (action: () => Promise<unknown>): Promise<void> =>
    action().then(
      () => setError(undefined),
      ({ message }: Error) => setError(message),
    )
  return { error, run }
}

/** Heading of a view. It is focused after navigation, so that screen readers announce it. */
export function Heading({ text }: { readonly text: string }) {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    document.title = `${text} · Project tracker`
    heading.current?.focus()
  }, [text])
  return (
    <h1 ref={heading} tabIndex={-1}>
      {text}
    </h1>
  )
}

interface NoticeProps {
  readonly error: string | undefined
  readonly isLoading?: boolean
}

/** Message of an error, or that a view has no data yet. */
export function Notice({ error, isLoading = false }: NoticeProps) {
  if (error !== undefined) return <p role="alert">{error}</p>
  return isLoading ? <p role="status">Loading …</p> : null
}

interface AboutProps {
  readonly task: {
    readonly project: { readonly id: number; readonly name: string } | null
    readonly assignee: { readonly username: string } | null
    readonly tags: readonly { readonly label: string }[]
  }
}

/** Project, assignee and tags of a task. */
export function About({ task: { project, assignee, tags } }: AboutProps) {
  return (
    <p>
      <a href={`#/board?project=${project?.id}`}>{project?.name}</a>, {assignee?.username ?? 'not assigned'}
      {tags.map(({ label }) => [' ', <span class="tag">{label}</span>])}
    </p>
  )
}
