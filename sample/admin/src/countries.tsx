import {
  BooleanField,
  BooleanInput,
  DataTable,
  Edit,
  List,
  NumberInput,
  Pagination,
  ReferenceManyField,
  SelectInput,
  SimpleForm,
  TextInput,
} from 'react-admin'
import { regions } from './choices'

const filters = [
  <TextInput key="name" source="name__contains" label="Name" alwaysOn resettable />,
  <SelectInput key="region" source="region" choices={regions} alwaysOn />,
  <TextInput key="language" source="languages__name" label="Language" />,
  <BooleanInput key="landlocked" source="landlocked" />,
]

export function CountryList() {
  return (
    <List filters={filters} sort={{ field: 'name', order: 'ASC' }} perPage={10}>
      <DataTable bulkActionButtons={false}>
        <DataTable.Col source="name" />
        <DataTable.Col source="capital" />
        <DataTable.Col source="region" />
        <DataTable.NumberCol source="area" />
        <DataTable.Col source="landlocked" field={BooleanField} />
      </DataTable>
    </List>
  )
}

export function CountryEdit() {
  return (
    <Edit mutationMode="pessimistic">
      <SimpleForm>
        <TextInput source="name" />
        <TextInput source="capital" />
        <SelectInput source="region" choices={regions} />
        <NumberInput source="area" />
        <BooleanInput source="landlocked" />
        <ReferenceManyField
          reference="city"
          target="country_id"
          sort={{ field: 'population', order: 'DESC' }}
          perPage={5}
          pagination={<Pagination />}
        >
          <DataTable bulkActionButtons={false}>
            <DataTable.Col source="name" label="City" />
            <DataTable.NumberCol source="population" />
          </DataTable>
        </ReferenceManyField>
      </SimpleForm>
    </Edit>
  )
}
