package keys

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAMultimapsKeysAreSpelledAsRedissonSpellsThem(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ got, want string }{
		{Values("mm", "abc"), "{mm}:BhA5LsZVetaLy1jDRVlHJg"},
		{Values("m:{m}", "abc"), "m:{m}:BhA5LsZVetaLy1jDRVlHJg"},
		{ListEnds("mm"), "{mm}:redisson_list_multimap_ttl"},
		{SetEnds("mm"), "{mm}:redisson_set_multimap_ttl"},
		{SetEnds("m:{m}"), "m:{m}:redisson_set_multimap_ttl"},
	} {
		assert.Equal(t, c.want, c.got)
	}
}
