package manifest

import (
	"cmp"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"

	"github.com/volnode/volnode/hal"
)

// What is held of a ClusterTrustBundle, and under which key. A label's key has labelField in front of it.
const (
	bundleField = "trustBundle"
	signerField = "signerName"
	labelField  = "label "
)

// mostBundle is how many bytes a ClusterTrustBundle may have, as an API server has it.
const mostBundle = 1 << 20

// trustBundle decodes a ClusterTrustBundle. Its versions have the same fields.
func (c *content) trustBundle(node string, d document) error {
	var b certificatesv1beta1.ClusterTrustBundle
	if err := strictly(d.json, &b); err != nil {
		return cmp.Or(mistaken(d, reflect.TypeOf(&b)), err)
	}
	begin := strings.ReplaceAll(b.Spec.SignerName, "/", ":") + ":"
	switch signer := b.Spec.SignerName; {
	case signer != "" && !strings.HasPrefix(b.Name, begin):
		return fmt.Errorf("metadata.name %.100q must begin with %.100q, as spec.signerName is %.100q", b.Name, begin, signer)
	case signer == "" && strings.Contains(b.Name, ":"):
		return fmt.Errorf("metadata.name %.100q has a colon, and no spec.signerName that it begins with", b.Name)
	}
	if err := identifyBundle(node, &b); err != nil {
		return err
	}
	if err := badBundle(b.Spec.TrustBundle); err != nil {
		return fmt.Errorf("spec.trustBundle: %w", err)
	}
	data := map[string]string{bundleField: b.Spec.TrustBundle, signerField: b.Spec.SignerName}
	for _, label := range slices.Sorted(maps.Keys(b.Labels)) {
		data[labelField+label] = b.Labels[label]
	}
	return c.holds(d, &hal.Content{
		Kind: hal.TrustBundleKind, Name: b.Name, UID: string(b.UID), Signer: b.Spec.SignerName, Labels: b.Labels,
	}, data)
}

// identifyBundle is identify for a name that may have colons.
func identifyBundle(node string, b *certificatesv1beta1.ClusterTrustBundle) error {
	plain := b.ObjectMeta
	plain.Name = strings.ReplaceAll(b.Name, ":", ".")
	if err := checkNames(&plain, false); err != nil {
		return err
	}
	if b.UID == "" {
		b.UID = uidOf(node, hal.TrustBundleKind, "", b.Name)
	}
	return nil
}

// badBundle says what is wrong with the certificates of a bundle. They are public, and not quoted all the same.
func badBundle(text string) error {
	if len(text) > mostBundle {
		return fmt.Errorf("%d bytes are more than %d", len(text), mostBundle)
	}
	count := 0
	for block, rest := pem.Decode([]byte(text)); block != nil; block, rest = pem.Decode(rest) {
		count++
		if block.Type != "CERTIFICATE" {
			return fmt.Errorf("PEM block %d is a %.50q, and only CERTIFICATE may be there", count, block.Type)
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return fmt.Errorf("PEM block %d is no certificate: %w", count, err)
		}
	}
	if count == 0 {
		return errors.New("has no PEM block of a CERTIFICATE")
	}
	return nil
}

// TrustBundle reads a ClusterTrustBundle, as Secret does.
func (c *Cluster) TrustBundle(call hal.Call, name string) (hal.TrustBundle, error) {
	data, err := c.held(call, id{Kind: hal.TrustBundleKind, Name: name})
	is := hal.TrustBundle{PEM: data[bundleField], Signer: data[signerField], Labels: map[string]string{}}
	for _, field := range slices.Sorted(maps.Keys(data)) {
		if label, isLabel := strings.CutPrefix(field, labelField); isLabel {
			is.Labels[label] = data[field]
		}
	}
	return is, err
}
