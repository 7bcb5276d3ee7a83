package keys

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGroupFieldsAreThoseOfRedisson(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"":                                 "t6rZwibGo2uy1OSmNVe8pg",
		"a":                                "qwvAS12pR0CgRitaypEjUw",
		"student:001":                      "DqvoYruF5eyLDrILcprmBw",
		"0123456789abcdef0123456789abcdef": "08hr0B8iaf3PoSsWAS8sWA",
	} {
		require.Equal(t, want, GroupField(value), "%q", value)
	}
}

func TestGroupOfUndoesGroupValues(t *testing.T) {
	t.Parallel()
	for _, group := range []string{"a", "a:1", "{a}:b", "a{b}c", "a}b", "{", "1:2,3"} {
		for _, fields := range [][]string{{"x"}, {"x", "y+/"}} {
			name, got := GroupOf(GroupValues(group, fields))
			require.Equal(t, group, name)
			require.Equal(t, fields, got)
		}
	}
}
