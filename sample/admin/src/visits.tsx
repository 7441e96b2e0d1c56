import {
  AutocompleteInput,
  Create,
  DataTable,
  DateField,
  DateTimeInput,
  Edit,
  List,
  NumberInput,
  ReferenceField,
  ReferenceInput,
  SimpleForm,
  TextInput,
} from 'react-admin'
import { containsName } from './choices'
import { LiveUpdates } from './live'

const filters = [
  <NumberInput key="rating" source="rating__gte" label="Rating at least" alwaysOn />,
  <ReferenceInput key="city" source="city_id" reference="city" sort={{ field: 'population', order: 'DESC' }}>
    <AutocompleteInput label="City" filterToQuery={containsName} />
  </ReferenceInput>,
]

export function VisitList() {
  return (
    <List filters={filters} sort={{ field: 'visited', order: 'DESC' }}>
      <LiveUpdates />
      <DataTable>
        <DataTable.Col source="city_id" label="City">
          <ReferenceField source="city_id" reference="city" />
        </DataTable.Col>
        <DataTable.Col source="note" />
        <DataTable.NumberCol source="rating" />
        <DataTable.Col source="visited">
          <DateField source="visited" showTime transform={instantOf} />
        </DataTable.Col>
      </DataTable>
    </List>
  )
}

export function VisitCreate() {
  return (
    <Create redirect="list">
      <VisitForm />
    </Create>
  )
}

export function VisitEdit() {
  return (
    <Edit mutationMode="pessimistic">
      <VisitForm />
    </Edit>
  )
}

function VisitForm() {
  return (
    <SimpleForm>
      <ReferenceInput source="city_id" reference="city" sort={{ field: 'population', order: 'DESC' }}>
        <AutocompleteInput label="City" filterToQuery={containsName} />
      </ReferenceInput>
      <NumberInput source="rating" />
      <TextInput source="note" multiline />
      <DateTimeInput source="visited" label="Visited (UTC)" format={shownUtc} parse={sentUtc} />
    </SimpleForm>
  )
}

// A date-time is the text `2024-05-17 09:30:00` and means UTC, for which a browser takes its own time.

function instantOf(text: string): Date {
  return new Date(`${text.replace(' ', 'T')}Z`)
}

function shownUtc(text: string | undefined): string {
  return text?.slice(0, 16).replace(' ', 'T') ?? ''
}

function sentUtc(text: string): string | null {
  return text === '' ? null : `${text.replace('T', ' ')}:00`
}
