// Package maptest has what the tests of maps have in common: engines, servers that refuse, sources and observers.
// Package mapkinds has what knows kinds of maps.
package maptest
