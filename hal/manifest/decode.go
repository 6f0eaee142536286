package manifest

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	strict "sigs.k8s.io/json"

	"github.com/volnode/volnode/hal"
)

// id names an object among all objects of the directory. A pod that gets another uid is another pod.
type id = hal.Identity

// object is one object of a manifest.
type object struct {
	id    id
	value any // a hal.Object; a Content without its version
	sum   [sha256.Size]byte
	where string // in its file
	file  string // of the manifest that it counts in
	// keptIn is the directory in which it is kept though no manifest has it; zero while one has it.
	keptIn dirID
}

// isElsewhere: it was kept in another directory than in.
func (o object) isElsewhere(in dirID) bool { return o.keptIn != dirID{} && !o.keptIn.is(in) }

func (o object) isSecret() bool { return o.id.Kind == hal.SecretKind }

// content is what a manifest holds.
type content struct {
	objects   []object
	held      map[id]map[string]string // by kind, namespace and name: what Secrets and ConfigMaps hold
	documents []document               // in which they were
}

const withheld = "details withheld: they may quote a secret"

// decode reads the manifest of that name, all of it or none. An error never quotes what a Secret holds.
func (o Options) decode(name string, data []byte) (content, error) {
	c, problems := o.decodeAll(name, data)
	if len(problems) > 0 {
		return content{}, together(problems)
	}
	return c, nil
}

// decodeAll returns what can be decoded, and what is wrong with the rest.
func decodeAll(node, name string, data []byte) (c content, problems []string) {
	documents, err := split(data, path.Ext(name) == ".json")
	if err != nil {
		if bad, is := errors.AsType[syntaxError](err); is && bad.quotes && bytes.Contains(data, []byte("Secret")) {
			return c, []string{"not valid " + bad.language + "; " + withheld}
		}
		return c, []string{err.Error()}
	}
	c.documents = documents
	for i := range documents {
		if err := c.add(node, &documents[i]); err != nil {
			problems = append(problems, documents[i].inDocument(err))
		}
	}
	if len(documents) == 0 {
		problems = append(problems, "holds no object; if it should hold none, remove the file")
	}
	return c, problems
}

// together joins several problems, and counts those beyond the limit.
func together(problems []string) error {
	text := strings.Join(problems[:min(len(problems), mostMistakes)], "; also ")
	if more := len(problems) - mostMistakes; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return errors.New(text)
}

// allOf joins several problems into one, in the line of the first.
func allOf(problems []error) error {
	texts := make([]string, 0, len(problems))
	for _, err := range problems {
		texts = append(texts, err.Error())
	}
	first, isPlaced := errors.AsType[placed](problems[0])
	if !isPlaced {
		return together(texts)
	}
	texts[0] = first.text
	return placed{first.line, together(texts).Error()}
}

// add decodes one document, or the items of a List.
func (c *content) add(node string, at *document) error {
	if at.is == (metav1.TypeMeta{}) && json.Unmarshal(at.json, &at.is) != nil {
		return errors.New("not an object with apiVersion and kind; " + withheld)
	}
	d, meta := *at, at.is
	switch meta.APIVersion + " " + meta.Kind {
	case "v1 List":
		return c.list(node, d)
	case "v1 Secret":
		return c.secret(node, d)
	case "v1 ConfigMap":
		return c.configMap(node, d)
	case "certificates.k8s.io/v1 ClusterTrustBundle", "certificates.k8s.io/v1beta1 ClusterTrustBundle",
		"certificates.k8s.io/v1alpha1 ClusterTrustBundle":
		return c.trustBundle(node, d)
	case "storage.k8s.io/v1 StorageClass":
		return nil
	case "v1 Pod":
		o := &corev1.Pod{}
		return c.object(node, d, o, &o.ObjectMeta, true)
	case "v1 PersistentVolume":
		o := &corev1.PersistentVolume{}
		return c.object(node, d, o, &o.ObjectMeta, false)
	case "v1 PersistentVolumeClaim":
		o := &corev1.PersistentVolumeClaim{}
		return c.object(node, d, o, &o.ObjectMeta, true)
	case "storage.k8s.io/v1 CSIDriver":
		o := &storagev1.CSIDriver{}
		return c.object(node, d, o, &o.ObjectMeta, false)
	case "storage.k8s.io/v1 VolumeAttachment":
		o := &storagev1.VolumeAttachment{}
		return c.object(node, d, o, &o.ObjectMeta, false)
	}
	const served = "a manifest holds v1 Pod, PersistentVolume, PersistentVolumeClaim, Secret, ConfigMap and List, " +
		"storage.k8s.io/v1 CSIDriver and VolumeAttachment, and certificates.k8s.io/v1beta1 ClusterTrustBundle"
	if meta.APIVersion == "" || meta.Kind == "" {
		return errors.New("an object without an apiVersion, or without a kind, is not served; " + served)
	}
	return fmt.Errorf("apiVersion %.100q, kind %.100q is not served; %s", meta.APIVersion, meta.Kind, served)
}

func (c *content) list(node string, d document) error {
	var list struct {
		metav1.TypeMeta `json:",inline"`
		Metadata        metav1.ListMeta   `json:"metadata"`
		Items           []json.RawMessage `json:"items"`
	}
	if err := strictly(d.json, &list); err != nil {
		return fmt.Errorf("not a valid List; %s", withheld)
	}
	_, items := entryOf(d.node, "items")
	var problems []error
	for i, item := range list.Items {
		var meta metav1.TypeMeta
		if json.Unmarshal(item, &meta) == nil && meta.Kind == "List" {
			problems = append(problems, inItem(i, errors.New("a List in a List is not supported")))
			continue
		}
		if err := c.add(node, &document{
			json: item, number: d.number, line: d.line,
			node: itemOf(items, i),
		}); err != nil {
			problems = append(problems, inItem(i, err))
		}
	}
	if len(problems) > 0 {
		return allOf(problems)
	}
	return nil
}

// object decodes a document into o, whose metadata is m, and adds it.
func (c *content) object(node string, d document, o any, m *metav1.ObjectMeta, namespaced bool) error {
	if err := strictly(d.json, o); err != nil {
		return cmp.Or(mistaken(d, reflect.TypeOf(o)), err)
	}
	kind := hal.IdentityOf(o).Kind
	if err := identify(node, kind, m, namespaced); err != nil {
		return err
	}
	if pod, ok := o.(*corev1.Pod); ok && pod.Spec.NodeName == "" {
		pod.Spec.NodeName = node
	}
	c.enter(d, o)
	return nil
}

func (c *content) enter(d document, o any) {
	c.objects = append(c.objects, object{
		id: hal.IdentityOf(o), value: o, sum: sha256.Sum256(d.json), where: d.where(),
	})
}

// identify completes what names an object, and checks it.
func identify(node, kind string, m *metav1.ObjectMeta, namespaced bool) error {
	if namespaced && m.Namespace == "" {
		m.Namespace = "default"
	}
	if err := checkNames(m, namespaced); err != nil {
		return err
	}
	if m.UID == "" {
		m.UID = uidOf(node, kind, m.Namespace, m.Name)
	}
	return nil
}

func (c *content) secret(node string, d document) error {
	var s corev1.Secret
	if strictly(d.json, &s) != nil {
		return errors.New("not a valid Secret; " + withheld)
	}
	if identify(node, hal.SecretKind, &s.ObjectMeta, true) != nil {
		return errors.New("not a valid Secret: its name or namespace is not a DNS name")
	}
	data := map[string]string{}
	for k, v := range s.Data {
		data[k] = string(v)
	}
	maps.Copy(data, s.StringData)
	return c.hold(d, hal.SecretKind, s.ObjectMeta, data)
}

func (c *content) configMap(node string, d document) error {
	var m corev1.ConfigMap
	if err := strictly(d.json, &m); err != nil {
		return cmp.Or(mistaken(d, reflect.TypeOf(&m)), err)
	}
	if err := identify(node, hal.ConfigMapKind, &m.ObjectMeta, true); err != nil {
		return err
	}
	data := maps.Clone(m.Data)
	if data == nil {
		data = map[string]string{}
	}
	for k, v := range m.BinaryData {
		if _, twice := data[k]; twice {
			return fmt.Errorf("binaryData[%.100s] is in data, too; remove one of them", k)
		}
		data[k] = string(v)
	}
	return c.hold(d, hal.ConfigMapKind, m.ObjectMeta, data)
}

// hold enters a Secret or a ConfigMap, and what it holds. Of these the object says no more than that it is there.
func (c *content) hold(d document, kind string, m metav1.ObjectMeta, data map[string]string) error {
	return c.holds(d, &hal.Content{Kind: kind, Namespace: m.Namespace, Name: m.Name, UID: string(m.UID)}, data)
}

func (c *content) holds(d document, o *hal.Content, data map[string]string) error {
	key := byName(hal.IdentityOf(o))
	if _, twice := c.held[key]; twice {
		return fmt.Errorf("%s is in this file twice", hal.IdentityOf(o))
	}
	if c.held == nil {
		c.held = map[id]map[string]string{}
	}
	c.held[key] = data
	c.enter(d, o)
	return nil
}

// Decode decodes one YAML document into an object, as strictly as a manifest. An error names the field, and the line in
// the text.
func Decode(text []byte, into any) error {
	documents, err := splitYAML(text)
	if err != nil || len(documents) != 1 {
		return cmp.Or(err, errors.New("not one document"))
	}
	if err := strictly(documents[0].json, into); err != nil {
		return cmp.Or(mistaken(documents[0], reflect.TypeOf(into)), err)
	}
	return nil
}

// strictly decodes JSON and refuses fields that the type does not have, and those that come twice.
func strictly(data []byte, into any) error {
	problems, err := strict.UnmarshalStrict(data, into)
	if err != nil {
		return err
	}
	if len(problems) == 0 {
		return nil
	}
	texts := make([]string, 0, len(problems))
	for _, p := range problems[:min(len(problems), 5)] {
		texts = append(texts, p.Error())
	}
	return errors.New(strings.Join(texts, ", "))
}

// badName says what apimachinery has against a name. Its texts have two blanks between examples.
func badName(field, name, problem string) error {
	if name == "" {
		return errors.New(field + " is empty")
	}
	return fmt.Errorf("%s %.100q: %s", field, name, strings.ReplaceAll(problem, "  ", " "))
}

// checkNames makes sure that what names an object can be a part of a path, wherever it ends up.
func checkNames(m *metav1.ObjectMeta, namespaced bool) error {
	if problems := validation.IsDNS1123Subdomain(m.Name); len(problems) > 0 {
		return badName("metadata.name", m.Name, problems[0])
	}
	if namespaced {
		if problems := validation.IsDNS1123Label(m.Namespace); len(problems) > 0 {
			return badName("metadata.namespace", m.Namespace, problems[0])
		}
	} else if m.Namespace != "" {
		return fmt.Errorf("metadata.namespace %.100q: objects of this kind have none", m.Namespace)
	}
	if m.UID == "" {
		return nil
	}
	switch problems := validation.IsDNS1123Subdomain(strings.ToLower(string(m.UID))); {
	case len(m.UID) > validation.DNS1123SubdomainMaxLength:
		return fmt.Errorf("metadata.uid %.100q: has %d letters; %d is the most", m.UID, len(m.UID),
			validation.DNS1123SubdomainMaxLength)
	case len(problems) > 0:
		return fmt.Errorf("metadata.uid %.100q: must be made of letters, digits, . and -", m.UID)
	}
	return nil
}

// PodUID is the uid that this source gives to a pod whose manifest has none.
func PodUID(node, namespace, name string) types.UID { return uidOf(node, "Pod", namespace, name) }

// uidOf is the uid of an object whose manifest gives none: a UUID of version 5 (RFC 9562) made of what names it, so
// that it is the same after every start. A pod's does not depend on its kind's name, since it is the one that people
// compute.
func uidOf(node, kind, namespace, name string) types.UID {
	text := node + "/" + namespace + "/" + name
	if kind != "Pod" {
		text += "/" + kind
	}
	return types.UID(uuid5(text))
}
