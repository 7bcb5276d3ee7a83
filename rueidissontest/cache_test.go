package rueidissontest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rueidissontest"
)

func TestForwardEndsEntriesOfCaches(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]rueidissontest.Option{"the machine's clock": nil, "a manual clock": {rueidissontest.WithManualClock()}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := rueidissontest.NewServer(t, opts...)
			pages := rmap.NewCache[string, int](s.NewClient(t), "pages")
			events := pages.Events(t.Context(), rmap.Expired)
			require.NoError(t, pages.Put(t.Context(), "k", 1, rmap.WithTTL(time.Hour)))
			s.Forward(time.Hour - time.Minute)
			_, there, err := pages.Get(t.Context(), "k")
			require.NoError(t, err)
			assert.True(t, there)
			s.Forward(time.Minute)
			_, there, err = pages.Get(t.Context(), "k")
			require.NoError(t, err)
			assert.False(t, there)
			for ev, err := range events { // it is swept
				require.NoError(t, err)
				assert.Equal(t, rmap.Event[string, int]{Kind: rmap.Expired, Key: "k", Value: 1}, ev)
				break
			}
		})
	}
}
