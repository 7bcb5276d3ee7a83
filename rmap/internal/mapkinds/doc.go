// Package mapkinds runs tests on every kind of map.
package mapkinds
