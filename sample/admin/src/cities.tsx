import {
  AutocompleteInput,
  DataTable,
  Edit,
  List,
  NumberInput,
  ReferenceField,
  ReferenceInput,
  SelectInput,
  SimpleForm,
  TextInput,
} from 'react-admin'
import { containsName, regions } from './choices'

const filters = [
  <TextInput key="name" source="name__contains" label="Name" alwaysOn resettable />,
  <NumberInput key="population" source="population__gte" label="Population at least" />,
  <SelectInput key="region" source="country__region" label="Region" choices={regions} />,
  <ReferenceInput key="country" source="country_id" reference="country" sort={{ field: 'name', order: 'ASC' }}>
    <AutocompleteInput label="Country" filterToQuery={containsName} />
  </ReferenceInput>,
]

export function CityList() {
  return (
    <List filters={filters} sort={{ field: 'population', order: 'DESC' }} perPage={10}>
      <DataTable bulkActionButtons={false}>
        <DataTable.Col source="name" />
        <DataTable.NumberCol source="population" />
        <DataTable.Col source="country_id" label="Country">
          <ReferenceField source="country_id" reference="country" />
        </DataTable.Col>
      </DataTable>
    </List>
  )
}

/** Administrators write cities: what is refused is told in the form, which waits for the answer. */
export function CityEdit() {
  return (
    <Edit mutationMode="pessimistic">
      <SimpleForm>
        <TextInput source="name" />
        <NumberInput source="population" />
        <NumberInput source="latitude" />
        <NumberInput source="longitude" />
        <ReferenceInput source="country_id" reference="country" sort={{ field: 'name', order: 'ASC' }}>
          <AutocompleteInput label="Country" filterToQuery={containsName} />
        </ReferenceInput>
      </SimpleForm>
    </Edit>
  )
}
