import type { TargetedEvent } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { type Choice, useChoices } from './choices'
import { useKeyLabels } from './labels'
import type { Field, Resource } from './model'

interface ReferenceInputProps {
  /** The related resource, and the field by which its records are found. */
  readonly target: Resource
  readonly label: Field
  /** The foreign key. */
  readonly value: string
  readonly onChange: (key: string) => void
  /** Receives a key that is chosen, or typed and confirmed by Enter or by leaving the input. */
  readonly onCommit?: (key: string) => void
  /** Id and ARIA attributes of the input. */
  readonly common: { readonly id: string; readonly 'aria-describedby': string }
}

/**
 * Input of a foreign key: a combobox that searches the related records by name (WAI-ARIA, Combobox Pattern). A text
 * that is not chosen from its list is the key itself.
 */
export function ReferenceInput({ target, label, value, onChange, onCommit, common }: ReferenceInputProps) {
  const { id } = common
  const [isTyping, setTyping] = useState(false)
  const [isOpen, setOpen] = useState(false)
  const [active, setActive] = useState(-1)
  const keys = useMemo(() => (isTyping || value === '' ? [] : [value]), [isTyping, value])
  const known = useKeyLabels(target, keys)(value)
  const choices = useChoices(target, label, isOpen ? (isTyping ? value : '') : undefined)
  const close = (): void => {
    setOpen(false)
    setActive(-1)
  }
  const choose = ({ key }: Choice): void => {
    onChange(key)
    onCommit?.(key)
    setTyping(false)
    close()
  }
  const leave = (): void => {
    const same = choices?.filter((choice) => choice.label.toLowerCase() === value.toLowerCase()) ?? []
    if (isTyping && same[0] && same.length === 1) choose(same[0])
    else onCommit?.(value)
    setTyping(false)
    close()
  }
  const shown = isOpen ? (choices ?? []) : []
  const move = (step: number): void => {
    setOpen(true)
    const from = active < 0 && step < 0 ? 0 : active
    if (shown.length > 0) setActive((from + step + shown.length) % shown.length)
  }
  const press = (event: KeyboardEvent): void => {
    const choice = shown[active]
    if (event.key === 'ArrowDown') move(1)
    else if (event.key === 'ArrowUp') move(-1)
    else if (event.key === 'Enter' && choice) choose(choice)
    else if (event.key === 'Enter' && onCommit && value !== '') {
      // While the search runs, the text may still turn out to be a name.
      if (choices !== undefined) leave()
    } else if (event.key === 'Escape' && isOpen) close()
    else return
    event.preventDefault()
  }
  const type = ({ currentTarget }: TargetedEvent<HTMLInputElement>): void => {
    onChange(currentTarget.value)
    setTyping(true)
    setOpen(true)
    setActive(-1)
  }
  const isCombobox = choices !== null
  const isNoName = isOpen && isTyping && choices?.length === 0
  const popup =
    isCombobox &&
    ({
      role: 'combobox',
      'aria-autocomplete': 'list',
      'aria-expanded': shown.length > 0,
      'aria-controls': `${id}-list`,
      'aria-activedescendant': shown[active] ? `${id}-${active}` : undefined,
      onClick: () => setOpen(true),
      onFocus: (event: TargetedEvent<HTMLInputElement>) => event.currentTarget.select(),
    } as const)
  return (
    <div class="reference">
      <input
        {...common}
        {...popup}
        aria-describedby={`${common['aria-describedby']} ${id}-key`}
        value={isTyping ? value : (known ?? value)}
        onInput={type}
        onKeyDown={press}
        onBlur={leave}
        autocomplete="off"
        placeholder={isCombobox ? `Search ${target.name}` : ''}
      />
      <small id={`${id}-key`}>
        {isNoName ? `No ${target.name} has this name.` : known === undefined ? '' : `Key ${value}`}
      </small>
      {shown.length > 0 && <Choices id={id} name={target.name} choices={shown} active={active} onChoose={choose} />}
      <span class="hidden" role="status">
        {isOpen && choices ? `${choices.length === 0 ? 'No' : choices.length} matches` : ''}
      </span>
    </div>
  )
}

interface ChoicesProps {
  readonly id: string
  readonly name: string
  readonly choices: readonly Choice[]
  readonly active: number
  readonly onChoose: (choice: Choice) => void
}

function Choices({ id, name, choices, active, onChoose }: ChoicesProps) {
  const list = useRef<HTMLDivElement>(null)
  useEffect(() => list.current?.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest' }), [active])
  return (
    // The focus stays in the input: a press of the mouse does not move it.
    <div
      ref={list}
      class="choices"
      role="listbox"
      id={`${id}-list`}
      aria-label={name}
      onMouseDown={(event) => event.preventDefault()}
    >
      {choices.map((choice, index) => (
        // biome-ignore lint/a11y/useKeyWithClickEvents: the input has the focus and handles the keys
        <div
          key={choice.key}
          id={`${id}-${index}`}
          role="option"
          aria-selected={index === active}
          tabIndex={-1}
          onClick={() => onChoose(choice)}
        >
          {choice.label} <span class="quiet">{choice.key}</span>
        </div>
      ))}
    </div>
  )
}
